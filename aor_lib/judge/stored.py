"""Judge stored answers: those of a study, or those in a table of any origin."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import pandas as pd

from aor_lib.config.records import Label, Response, Verdict
from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.inference.store import Store, open_results
from aor_lib.judge.judgement import Exchange, Judge, Judgement, judge_responses
from aor_lib.judge.reading import has_final_answer
from aor_lib.models.base import Failure, ModelError
from aor_lib.stimuli.manifest import load_manifest
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import Report

FORMATS = (".csv", ".jsonl")
NEEDED = ("prompt", "completion")
ADDED = ("label", "p_refusal", "rationale", "judge")
_BATCH = 64
Item = TypeVar("Item")
Given = TypeVar("Given")


def judge_study(build: Path, judge: Judge, report: Report) -> int:
    """Judge the responses of a study that have no verdict of this version; returns their number.

    Verdicts are kept batch by batch. ModelError, with the reasons, if the judge failed on some,
    which the next call asks for again.
    """
    with open_results(build) as store:
        ask = study_judge(store, judge, load_manifest(build))
        responses = store.unjudged(judge.id, judge.version)
        return _judge_all(judge.id, responses, ask, store.record_verdicts, report, _BATCH)


def study_judge(
    store: Store, judge: Judge, manifest: pd.DataFrame
) -> Callable[[Sequence[Response]], list[Verdict | Failure]]:
    """Return a function from responses in the plan, whose prompts it looks up, to verdicts."""
    trials = store.planned()
    texts = manifest.set_index("stimulus_id")["text"].to_dict()
    prompts = {
        of.key: of.arm.steps[0] if of.arm.method == "probe" else texts.get(of.stimulus_id)
        for of in trials
    }
    reasoned = {trial.key for trial in trials if has_final_answer(trial.arm.instruction or "")}
    return lambda rows: judge_responses(rows, judge, [prompts[r.trial_key] for r in rows], reasoned)


def judge_table(source: Path, target: Path, judge: Judge, report: Report) -> "pd.Series[int]":
    """Judge the answers in a table, and return the number of answers by label.

    Both are CSV or JSONL files. ``source`` has the columns :data:`NEEDED`; ``target`` gets
    all its rows and columns in their order, and :data:`ADDED`. It is written as judging goes on,
    after each 64 or 2 % of the answers; what has a label there, by this judge, is not judged again.
    AorError if it has another judge's; ModelError, with the reasons, if the judge failed on some.
    """
    if unknown := [path for path in (source, target) if path.suffix not in FORMATS]:
        raise AorError(f"{unknown[0]}: is no table; give a file in {', '.join(FORMATS)}")
    if source.resolve() == target.resolve():
        raise AorError(f"{target}: is the table itself; give another --out")
    table, by = _read(source), f"{judge.id} {judge.version}"
    if taken := set(ADDED) & set(table):
        raise AorError(f"{source}: has a column {min(taken)}, which judging adds; rename it")
    exchanges, judged = _exchanges(table), dict[Exchange, Judgement]()
    if target.is_file():
        before = _read(target).reindex(columns=[*NEEDED, *ADDED])
        if others := set(before["judge"].dropna()) - {by, ""}:
            raise AorError(f"{target}: has labels by {others.pop()}, not {by}; give another --out")
        before = before.query("judge == @by")
        verdicts = map(Judgement, before["label"], before["p_refusal"], before["rationale"])
        judged = dict(zip(_exchanges(before), verdicts, strict=True))
    left = [exchange for exchange in dict.fromkeys(exchanges) if exchange not in judged]

    def keep(verdicts: Sequence[tuple[Exchange, Judgement]]) -> "pd.Series[str]":
        judged.update(verdicts)
        rows = [asdict(judged[of]) | {"judge": by} if of in judged else {} for of in exchanges]
        added = pd.DataFrame(rows, columns=[*ADDED], index=table.index)
        added["p_refusal"] = pd.to_numeric(added["p_refusal"]).astype("Float64")
        _write(table.join(added), target)
        return added["label"]

    _judge_all(judge.id, left, judge.judge_all, keep, report, max(_BATCH, len(left) // 50))
    return keep([]).value_counts().reindex([*Label], fill_value=0)


def _judge_all(
    judge: str,
    items: Sequence[Item],
    ask: Callable[[Sequence[Item]], Sequence[Given | Failure]],
    keep: Callable[[Sequence[tuple[Item, Given]]], object],
    report: Report,
    size: int,
) -> int:
    done, failed = 0, Counter[str]()
    for start in range(0, len(items), size):
        batch = items[start : start + size]
        results = list(zip(batch, ask(batch), strict=True))
        failed.update(result.error for _, result in results if isinstance(result, Failure))
        came = [(item, result) for item, result in results if not isinstance(result, Failure)]
        keep(came)
        done += len(came)
        report(done, len(items))
        if 2 * len(came) < len(batch):
            break  # it is asked no more
    if failed:
        reasons = "; ".join(f"{times} x {reason}" for reason, times in failed.most_common(3))
        left = f"{len(items) - done} of {len(items)} answers have no verdict"
        raise ModelError(f"{judge}: {left}, run it again to ask for them: {reasons}")
    return done


def _exchanges(table: pd.DataFrame) -> list[Exchange]:
    return list(zip(table["completion"].map(_text), table["prompt"].map(_text), strict=True))


def _text(cell: object) -> str:
    # JSON can hold lone surrogates, which are no UTF-8.
    return cell.encode("utf-8", "replace").decode() if isinstance(cell, str) else ""


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
    names = list(table)
    if wrong := [name for name in [*NEEDED, *names] if names.count(name) != 1]:
        raise AorError(f"{path}: must have one column named {wrong[0]!r}; it has {names}")
    return table


def _write(table: pd.DataFrame, path: Path) -> None:
    with atomic_write(path) as stream:
        if path.suffix == ".csv":
            # Quoted throughout: else a lone carriage return in a text would end its row.
            table.to_csv(stream, index=False, quoting=csv.QUOTE_NONNUMERIC)
        else:
            rows = table.astype(object).where(table.notna(), None).to_dict("records")
            stream.write("".join(json.dumps(row, default=str) + "\n" for row in rows).encode())
