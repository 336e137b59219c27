"""Judge the answers in a table: CSV, JSON Lines or Parquet with ``prompt`` and ``completion``.

In CSV, values are text and are not interpreted (``NA`` stays ``NA``, ``007`` stays ``007``).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from aor_lib.config.records import FLAGS, Label
from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.judge.judgement import Judge, Judgement, judge_all
from aor_lib.storage.atomic_write import atomic_write

NEEDED = ("prompt", "completion")
"""Columns that a table must have."""

ADDED = ("label", "p_refusal", "rationale", *FLAGS)
"""Columns that judging adds: a :class:`aor_lib.config.records.Label`; the probability of any
refusal (missing where unjudged); the span or the rule that decided; a boolean for each flag."""

_BATCH = 256
_Format = tuple[Callable[[Path], pd.DataFrame], Callable[[pd.DataFrame], bytes]]


class TableError(AorError, ValueError):
    """A table that cannot be read or written; the message is one line and names the file."""


def judge_table(
    source: Path, target: Path, judge: Judge, report: Callable[[int, int], None]
) -> pd.Series[int]:
    """Write ``source`` to ``target`` with the columns of :data:`ADDED` behind its own.

    Every row, its order and every other column stay as they are; the two files' formats, which
    their extensions say, may differ. A completion that is missing, empty or no text is unjudged; a
    prompt that is missing, empty or no text is not known. TableError if a file cannot be read, or
    its format cannot hold the table. Returns the number of answers by label.
    """
    _format(target)
    table = _read(source)
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
    _write(judged, target)
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


def _read(path: Path) -> pd.DataFrame:
    read, _ = _format(path)
    try:
        return read(path)
    except (ValueError, RecursionError, pa.ArrowException) as error:
        kind = path.suffix[1:].upper()
        raise TableError(f"{path}: is not {kind} (its text in UTF-8): {one_line(error)}") from error


def _write(table: pd.DataFrame, path: Path) -> None:
    _, encode = _format(path)
    try:
        content = encode(table)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise TableError(f"{path}: this format cannot hold the table: {one_line(error)}") from error
    with atomic_write(path) as stream:
        stream.write(content)


def _format(path: Path) -> _Format:
    if path.suffix.lower() not in _FORMATS:
        raise TableError(f"{path}: is no table; give a file that ends in {', '.join(_FORMATS)}")
    return _FORMATS[path.suffix.lower()]


def _read_csv(path: Path) -> pd.DataFrame:
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "encoding": "utf-8-sig"}
    try:
        # The header is text like the rest: names that occur twice stay as they are.
        rows: pd.DataFrame = pd.read_csv(path, header=None, index_col=False, **options)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    rows = rows.fillna("")
    return rows.iloc[1:].set_axis(rows.iloc[0].to_list(), axis=1)


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows = []
    for number, line in enumerate(path.read_text("utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                rows.append(dict(json.loads(line)))
            except (ValueError, TypeError) as error:
                raise ValueError(f"line {number}: is no JSON object: {error}") from error
    return pd.DataFrame(rows, dtype=object)


def _read_parquet(path: Path) -> pd.DataFrame:
    # Without the hints that pandas leaves in a file, no column becomes an index.
    plain = pq.read_table(path).replace_schema_metadata(None)
    frame: pd.DataFrame = plain.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _csv(table: pd.DataFrame) -> bytes:
    plain = table.map(lambda value: json.dumps(value) if isinstance(value, list | dict) else value)
    # Text is quoted throughout: else a lone carriage return in it would end the row.
    text = plain.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text.encode("utf-8")


def _jsonl(table: pd.DataFrame) -> bytes:
    columns = {str(name): table.iloc[:, i].astype(object) for i, name in enumerate(table)}
    known = pd.DataFrame(columns)
    rows = known.where(known.notna(), None).to_dict("records")
    # Escaped: a lone surrogate is no UTF-8.
    return "".join(json.dumps(row, default=str) + "\n" for row in rows).encode()


def _parquet(table: pd.DataFrame) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), sink)
    return bytes(sink.getvalue().to_pybytes())


_FORMATS: dict[str, _Format] = {
    ".csv": (_read_csv, _csv),
    ".jsonl": (_read_jsonl, _jsonl),
    ".parquet": (_read_parquet, _parquet),
}
