"""Judge what the models of a study answered."""

from collections.abc import Callable
from pathlib import Path

from aor_lib.config.profile import PROBES
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import Judge, judge_responses
from aor_lib.judge.reading import has_final_answer
from aor_lib.stimuli.manifest import load_manifest

_BATCH = 64


def judge_study(build: Path, judge: Judge, report: Callable[[int, int], None]) -> int:
    """Judge the responses in ``build`` that have no verdict of this judge's present version.

    Answers to probes are not judged: saying what one hears neither refuses nor complies. Verdicts
    are kept batch by batch, so that a judge that is cut off goes on where it was. Returns the
    number of responses judged.
    """
    manifest = load_manifest(build).set_index("stimulus_id")["text"]
    with Store(build / STORE) as store:
        planned = store.frame(judge.id)
        prompts = dict(zip(planned["trial_key"], planned["stimulus_id"].map(manifest), strict=True))
        probes = set(planned.loc[planned["mitigation"].isin(PROBES), "trial_key"])
        reasoned = {
            trial.key
            for trial in store.planned()
            if trial.arm.instruction and has_final_answer(trial.arm.instruction)
        }
        unjudged = store.unjudged(judge.id, judge.version)
        responses = [one for one in unjudged if one.trial_key not in probes]
        for start in range(0, len(responses), _BATCH):
            batch = responses[start : start + _BATCH]
            asked = [prompts.get(response.trial_key) for response in batch]
            verdicts = judge_responses(batch, judge, asked, reasoned)
            store.record_verdicts(zip(batch, verdicts, strict=True))
            report(start + len(batch), len(responses))
    return len(responses)
