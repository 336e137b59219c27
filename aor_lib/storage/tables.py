"""Tables in files: CSV, JSON Lines and Parquet, read and written without a loss.

In CSV, values are text and are not interpreted (``NA`` stays ``NA``, ``007`` stays ``007``).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from aor_lib.config.errors import AorError
from aor_lib.storage.whole_file import whole_file


class TableError(AorError, ValueError):
    """A table that cannot be read or written; the message is one line and names the file."""


def read_table(path: Path) -> pd.DataFrame:
    """All rows and columns of a file, in their order; the format goes by its extension.

    Values of CSV are str, those of JSON Lines Python objects, those of Parquet of Arrow's types.

    Raises
    ------
    TableError
        The extension is unknown, or the file is not what it says.
    OSError
        The file cannot be read.
    """
    return _format(path)[0](path)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write all rows and columns to a file; the format goes by its extension.

    Raises
    ------
    TableError
        The format cannot hold a value.
    OSError
        The file cannot be written.
    """
    try:
        content = _format(path)[1](table)
    except (pa.ArrowException, UnicodeError, ValueError, TypeError) as error:
        text = " ".join(str(error).split())
        raise TableError(f"{path}: this format cannot hold the table: {text}") from error
    with whole_file(path) as stream:
        stream.write(content)


def check_format(path: Path) -> None:
    """Raise ``TableError`` unless the extension is that of a table."""
    _format(path)


def _read_csv(path: Path) -> pd.DataFrame:
    text = _text(path)
    try:
        # All is text, the header too: names that occur twice stay as they are.
        rows = pd.read_csv(
            io.StringIO(text, newline=""),
            header=None,
            dtype=str,
            keep_default_na=False,
            index_col=False,
        )
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except (pd.errors.ParserError, ValueError) as error:
        raise TableError(f"{path}: is not CSV: {' '.join(str(error).split())}") from error
    return rows.iloc[1:].fillna("").set_axis(rows.iloc[0].fillna("").to_list(), axis=1)


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TableError(f"{path}: line {number}: is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise TableError(f"{path}: line {number}: is no JSON object")
        rows.append(row)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    values = {name: [row.get(name) for row in rows] for name in columns}
    return pd.DataFrame(values, columns=columns, dtype=object)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise TableError(f"{path}: is not Parquet: {' '.join(str(error).split())}") from error
    # Without the hints that pandas leaves in a file, no column becomes an index.
    plain = table.replace_schema_metadata(None)
    frame: pd.DataFrame = plain.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _write_csv(table: pd.DataFrame) -> bytes:
    plain = table.map(lambda value: json.dumps(value) if isinstance(value, list | dict) else value)
    # Text is quoted throughout: else a lone carriage return in it would end the row.
    text = plain.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text.encode("utf-8")


def _write_jsonl(table: pd.DataFrame) -> bytes:
    names = [str(column) for column in table]
    rows = zip(*(table.iloc[:, i].astype(object) for i in range(len(names))), strict=True)
    return b"".join(_line(dict(zip(names, row, strict=True))) for row in rows)


def _write_parquet(table: pd.DataFrame) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), sink)
    return bytes(sink.getvalue().to_pybytes())


def _line(row: dict[str, Any]) -> bytes:
    known = {name: None if _is_missing(value) else value for name, value in row.items()}
    try:
        line = json.dumps(known, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only hold escaped
        line = json.dumps(known, default=str).encode("utf-8")
    return line + b"\n"


def _is_missing(value: object) -> bool:
    return value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path}: is not UTF-8 (byte {error.start} is 0x{error.object[error.start]:02x}); "
            "save it as UTF-8"
        ) from error


_Format = tuple[Callable[[Path], pd.DataFrame], Callable[[pd.DataFrame], bytes]]
_FORMATS: dict[str, _Format] = {
    ".csv": (_read_csv, _write_csv),
    ".jsonl": (_read_jsonl, _write_jsonl),
    ".parquet": (_read_parquet, _write_parquet),
}


def _format(path: Path) -> _Format:
    if path.suffix.lower() not in _FORMATS:
        raise TableError(f"{path}: is no table; give a file that ends in {', '.join(_FORMATS)}")
    return _FORMATS[path.suffix.lower()]
