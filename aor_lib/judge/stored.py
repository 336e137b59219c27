"""Judge stored answers: those of a study, or those in a table of any origin."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from aor_lib.config.records import FLAGS, Label, Response, Verdict
from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.inference.store import Store, open_results
from aor_lib.judge.judgement import Judge, Judgement, judge_responses
from aor_lib.judge.reading import has_final_answer
from aor_lib.stimuli.manifest import load_manifest
from aor_lib.storage.atomic_write import atomic_write

FORMATS = (".csv", ".jsonl")
NEEDED = ("prompt", "completion")
ADDED = ("label", "p_refusal", "rationale", *FLAGS)
_BATCH = 64


def judge_study(build: Path, judge: Judge, report: Callable[[int, int], None]) -> int:
    """Judge the responses of a study that have no verdict of this version; returns their number.

    Verdicts are kept batch by batch. ``report`` is called with the number of responses judged so
    far, and of all to judge.
    """
    with open_results(build) as store:
        unjudged = store.unjudged(judge.id, judge.version)
        done = 0
        for batch, total in study_verdicts(store, judge, load_manifest(build), unjudged):
            store.record_verdicts(batch)
            done += len(batch)
            report(done, total)
    return done


def study_verdicts(
    store: Store, judge: Judge, manifest: pd.DataFrame, responses: Sequence[Response]
) -> Iterator[tuple[list[tuple[Response, Verdict]], int]]:
    """Yield batches of verdicts on a study's responses, and the number of all."""
    trials = store.planned()
    texts = manifest.set_index("stimulus_id")["text"].to_dict()
    prompts = {
        trial.key: trial.arm.steps[0]
        if trial.arm.method == "probe"
        else texts.get(trial.stimulus_id)
        for trial in trials
    }
    reasoned = {trial.key for trial in trials if has_final_answer(trial.arm.instruction or "")}
    for start in range(0, len(responses), _BATCH):
        batch = responses[start : start + _BATCH]
        of_batch = [prompts.get(response.trial_key) for response in batch]
        verdicts = judge_responses(batch, judge, of_batch, reasoned)
        yield list(zip(batch, verdicts, strict=True)), len(responses)


def judge_table(
    source: Path, target: Path, judge: Judge, report: Callable[[int, int], None]
) -> pd.Series[int]:
    """Judge the answers in a table, and return the number of answers by label.

    Both are CSV or JSONL files. ``source`` has the columns :data:`NEEDED`; ``target`` gets
    all its rows and columns in their order, and :data:`ADDED`, with a boolean for each flag.
    """
    if unknown := [path for path in (source, target) if path.suffix not in FORMATS]:
        raise AorError(f"{unknown[0]}: is no table; give a file in {', '.join(FORMATS)}")
    table = _read(source)
    exchanges = [
        (_text(answer) or "", _text(prompt))
        for prompt, answer in zip(table["prompt"], table["completion"], strict=True)
    ]
    judgements: list[Judgement] = []
    for start in range(0, len(exchanges), _BATCH):
        judgements += judge.judge_all(exchanges[start : start + _BATCH])
        report(len(judgements), len(exchanges))
    judged = table.assign(
        label=[str(judgement.label) for judgement in judgements],
        p_refusal=pd.array([judgement.p_refusal for judgement in judgements], dtype="Float64"),
        rationale=[judgement.rationale for judgement in judgements],
        **{flag: [flag in judgement.flags for judgement in judgements] for flag in FLAGS},
    )
    _write(judged, target)
    return judged["label"].value_counts().reindex([*Label], fill_value=0)


def _text(cell: object) -> str | None:
    # JSON can hold lone surrogates, which are no UTF-8.
    text = cell.encode("utf-8", "replace").decode() if isinstance(cell, str) else ""
    return text if text.strip() else None


def _read(path: Path) -> pd.DataFrame:
    try:
        if path.suffix == ".csv":
            # The header as a row, so that a row with more cells is an error.
            rows = pd.read_csv(path, header=None, dtype=str, keep_default_na=False)
            table = rows.iloc[1:].set_axis(rows.iloc[0].to_list(), axis=1)
        else:
            # As one list, so that an error names the line.
            objects = path.read_text("utf-8-sig").strip().replace("\n", ",\n")
            table = pd.DataFrame(json.loads(f"[{objects}]"), dtype=object)
    except ValueError as error:
        raise AorError(f"{path}: cannot be read: {one_line(error)}") from error
    if missing := set(NEEDED) - set(table):
        raise AorError(f"{path}: lacks the column {missing.pop()}; it has {list(table)}")
    if taken := set(ADDED) & set(table):
        raise AorError(f"{path}: has a column {taken.pop()}, which judging adds; rename it")
    return table


def _write(table: pd.DataFrame, path: Path) -> None:
    with atomic_write(path) as stream:
        if path.suffix == ".csv":
            # Quoted throughout: else a lone carriage return in a text would end its row.
            table.to_csv(stream, index=False, quoting=csv.QUOTE_NONNUMERIC)
        else:
            rows = table.astype(object).where(table.notna(), None).to_dict("records")
            stream.write("".join(json.dumps(row, default=str) + "\n" for row in rows).encode())
