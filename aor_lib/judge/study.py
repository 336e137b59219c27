"""Judge what the models of a study answered."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from aor_lib.config.records import Response, Verdict
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import Judge, judge_responses
from aor_lib.judge.reading import has_final_answer
from aor_lib.stimuli.manifest import load_manifest

_BATCH = 64


def judge_study(build: Path, judge: Judge, report: Callable[[int, int], None]) -> int:
    """Judge the responses in ``build`` that have no verdict of this judge's present version.

    Verdicts are kept batch by batch, so that a judge that is cut off goes on where it was. Returns
    the number of responses judged.
    """
    with Store(build / STORE) as store:
        unjudged = list(store.unjudged(judge.id, judge.version))
        done = 0
        for batch, total in study_verdicts(store, judge, load_manifest(build), unjudged):
            store.record_verdicts(batch)
            done += len(batch)
            report(done, total)
    return done


def study_verdicts(
    store: Store, judge: Judge, manifest: pd.DataFrame, responses: Sequence[Response]
) -> Iterator[tuple[list[tuple[Response, Verdict]], int]]:
    """Yield batches of verdicts on a study's responses, and the number of all; nothing is kept.

    Answers to probes are not judged: saying what one hears neither refuses nor complies.
    """
    planned = store.frame(judge.id)
    text = manifest.set_index("stimulus_id")["text"]
    prompts = dict(zip(planned["trial_key"], planned["stimulus_id"].map(text), strict=True))
    probes = set(planned.loc[planned["method"] == "probe", "trial_key"])
    reasoned = {
        trial.key
        for trial in store.planned()
        if trial.arm.instruction and has_final_answer(trial.arm.instruction)
    }
    asked = [one for one in responses if one.trial_key not in probes]
    for start in range(0, len(asked), _BATCH):
        batch = asked[start : start + _BATCH]
        of_batch = [prompts.get(response.trial_key) for response in batch]
        verdicts = judge_responses(batch, judge, of_batch, reasoned)
        yield list(zip(batch, verdicts, strict=True)), len(asked)
