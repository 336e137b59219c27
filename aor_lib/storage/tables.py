"""Tables in files: CSV, JSON Lines and Parquet, read and written without a loss.

In CSV, values are text and are not interpreted (``NA`` stays ``NA``, ``007`` stays ``007``).
"""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.storage.atomic_write import atomic_write


class TableError(AorError, ValueError):
    """A table that cannot be read or written; the message is one line and names the file."""


def read_table(path: Path) -> pd.DataFrame:
    """Read all rows and columns of a file, in their order; its extension says the format.

    Values of CSV are str, those of JSON Lines Python objects, those of Parquet of Arrow's types.
    TableError if the extension is unknown, or the file is not what it says.
    """
    check_format(path)
    read, _ = _FORMATS[path.suffix.lower()]
    return read(path)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write all rows and columns to a file; its extension says the format.

    TableError if the format cannot hold a value.
    """
    check_format(path)
    _, content = _FORMATS[path.suffix.lower()]
    try:
        encoded = content(table)
    except (pa.ArrowException, UnicodeError, ValueError, TypeError) as error:
        raise TableError(f"{path}: this format cannot hold the table: {one_line(error)}") from error
    with atomic_write(path) as stream:
        stream.write(encoded)


def check_format(path: Path) -> None:
    """Raise ``TableError`` unless the extension is that of a table."""
    if path.suffix.lower() not in _FORMATS:
        raise TableError(f"{path}: is no table; give a file that ends in {', '.join(_FORMATS)}")


def _read_csv(path: Path) -> pd.DataFrame:
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "index_col": False}
    try:
        # The header is text like the rest: names that occur twice stay as they are.
        text = io.StringIO(_text(path), newline="")
        rows: pd.DataFrame = pd.read_csv(text, header=None, **options)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except pd.errors.ParserError as error:
        raise TableError(f"{path}: is not CSV: {one_line(error)}") from error
    rows = rows.fillna("")
    return rows.iloc[1:].set_axis(rows.iloc[0].to_list(), axis=1)


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        try:
            row = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            raise TableError(f"{path}: line {number}: is not JSON: {error}") from error
        if isinstance(row, dict):
            rows.append(row)
        elif line.strip():
            raise TableError(f"{path}: line {number}: is no JSON object")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    values = {name: [row.get(name) for row in rows] for name in columns}
    return pd.DataFrame(values, columns=columns, dtype=object)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise TableError(f"{path}: is not Parquet: {one_line(error)}") from error
    # Without the hints that pandas leaves in a file, no column becomes an index.
    plain = table.replace_schema_metadata(None)
    frame: pd.DataFrame = plain.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _csv(table: pd.DataFrame) -> bytes:
    plain = table.map(lambda value: json.dumps(value) if isinstance(value, list | dict) else value)
    # Text is quoted throughout: else a lone carriage return in it would end the row.
    text = plain.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text.encode("utf-8")


def _jsonl(table: pd.DataFrame) -> bytes:
    names = [str(column) for column in table]
    columns = [table.iloc[:, i].astype(object) for i in range(len(names))]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    return b"".join(_json(row) + b"\n" for row in rows)


def _parquet(table: pd.DataFrame) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), sink)
    return bytes(sink.getvalue().to_pybytes())


def _json(row: dict[str, Any]) -> bytes:
    known = {name: None if _is_missing(value) else value for name, value in row.items()}
    try:
        return json.dumps(known, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only hold escaped
        return json.dumps(known, default=str).encode("utf-8")


def _is_missing(value: object) -> bool:
    return value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise TableError(f"{path}: is not UTF-8 ({found}); save it as UTF-8") from error


_Format = tuple[Callable[[Path], pd.DataFrame], Callable[[pd.DataFrame], bytes]]
_FORMATS: dict[str, _Format] = {
    ".csv": (_read_csv, _csv),
    ".jsonl": (_read_jsonl, _jsonl),
    ".parquet": (_read_parquet, _parquet),
}
