"""Judge the answers in a table: CSV, JSON Lines or Parquet with ``prompt`` and ``completion``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from aor_lib.config.records import FLAGS, Label
from aor_lib.judge.judgement import Judge, Judgement, judge_all
from aor_lib.storage.tables import TableError, check_format, read_table, write_table

NEEDED = ("prompt", "completion")
"""Columns that a table must have."""

ADDED = ("label", "p_refusal", "rationale", *FLAGS)
"""Columns that judging adds: a :class:`aor_lib.config.records.Label`; the probability of any
refusal (missing where unjudged); the span or the rule that decided; a boolean for each flag."""

_BATCH = 256


def judge_table(
    source: Path, target: Path, judge: Judge, report: Callable[[int, int], None]
) -> pd.Series[int]:
    """Write ``source`` to ``target`` with the columns of :data:`ADDED` behind its own.

    Every row, its order and every other column stay as they are; the two files' formats (see
    :mod:`aor_lib.storage.tables`) may differ. A completion that is missing, empty or no text is
    unjudged; a prompt that is, is not known. Returns the number of answers by label.
    """
    check_format(target)
    table = read_table(source)
    _check_columns(source, [str(column) for column in table])
    exchanges = [
        (_text(completion) or "", _text(prompt))
        for prompt, completion in zip(table["prompt"], table["completion"], strict=True)
    ]
    judgements: list[Judgement] = []
    for start in range(0, len(exchanges), _BATCH):
        judgements += judge_all(judge, exchanges[start : start + _BATCH])
        report(len(judgements), len(exchanges))
    added = {
        "label": [str(judgement.label) for judgement in judgements],
        "p_refusal": pd.array([judgement.score for judgement in judgements], dtype="Float64"),
        "rationale": [judgement.rationale for judgement in judgements],
    }
    added |= {flag: [flag in judgement.flags for judgement in judgements] for flag in FLAGS}
    judged = pd.concat([table, pd.DataFrame(added, index=table.index)], axis=1)
    write_table(judged, target)
    return judged["label"].value_counts().reindex([*Label], fill_value=0)


def _check_columns(source: Path, columns: list[str]) -> None:
    if missing := [name for name in NEEDED if name not in columns]:
        raise TableError(
            f"{source}: lacks the column {' and '.join(missing)}; "
            f"it has {', '.join(columns) or 'none'}"
        )
    if twice := [name for name in NEEDED if columns.count(name) > 1]:
        raise TableError(f"{source}: has the column {' and '.join(twice)} more than once; keep one")
    if there := [name for name in ADDED if name in columns]:
        raise TableError(
            f"{source}: has a column {' and '.join(there)} already; rename it, so that nothing "
            "is lost"
        )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
