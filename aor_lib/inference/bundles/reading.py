"""From a folder that others made to a bundle that can be trusted to be one.

Every file is checked against its hash and every row against its type. Files that the manifest does
not name are not opened, and nothing that is in one is ever run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pydantic import ValidationError

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Response, Verdict
from aor_lib.inference.bundles.content import Bundle, BundleError
from aor_lib.inference.bundles.form import (
    FORMAT_VERSION,
    MANIFEST,
    RESPONSES,
    SCHEMAS,
    TRIALS,
    VERDICTS,
    Manifest,
    TrialRow,
    card_file,
    sha256,
)

T = TypeVar("T")

_LONGEST_CARD, _DEEPEST_CARD = 100_000, 20


def read_bundle(folder: Path) -> Bundle:
    """Read a bundle and check all of it.

    Raises
    ------
    BundleError
        It is damaged or of another version; the message names the file, and the row and the field.
    OSError
        A file cannot be read.
    """
    manifest = _manifest(folder)

    def rows(name: str, row: Callable[[dict[str, Any]], T]) -> tuple[T, ...]:
        path = folder / name
        values = _table(path, _content(path, manifest, name), SCHEMAS[name])
        return tuple(_row(path, number, row, of) for number, of in enumerate(values, start=1))

    trials = rows(TRIALS, lambda values: TrialRow.model_validate(values).trial())
    names = {model: card_file(model) for model in sorted({trial.arm.model for trial in trials})}
    bundle = Bundle(
        profile=manifest.profile,
        aor_version=manifest.aor_version,
        trials=trials,
        responses=rows(RESPONSES, Response.model_validate),
        verdicts=rows(VERDICTS, Verdict.model_validate),
        cards=tuple(
            _card(folder / name, _content(folder / name, manifest, name), model)
            for model, name in names.items()
        ),
        provenance=manifest.answered,
    )
    try:
        bundle.check()
    except ValueError as error:
        raise BundleError(f"{folder}: {error}") from error
    return bundle


def _manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise BundleError(f"{folder}: is no results bundle: it has no {MANIFEST}")
    try:
        data = json.loads(path.read_bytes())
        version = data["format_version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BundleError(f"{path}: is not the manifest of a results bundle") from error
    if version != FORMAT_VERSION:
        raise BundleError(
            f"{path}: format_version: is {version!r}, and this aor reads {FORMAT_VERSION}; "
            "use the same version of aor where it is exported and where it is imported"
        )
    try:
        return Manifest.model_validate(data)
    except ValueError as error:
        raise BundleError(f"{path}: {_one_line(error)}") from error


def _content(path: Path, manifest: Manifest, name: str) -> bytes:
    if name not in manifest.files or not path.is_file():
        raise BundleError(f"{path}: is missing; copy the whole bundle again")
    content = path.read_bytes()
    if sha256(content) != manifest.files[name]:
        raise BundleError(f"{path}: is not what its sha256 says; copy the whole bundle again")
    return content


def _table(path: Path, content: bytes, schema: pa.Schema) -> list[dict[str, Any]]:
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if not file.schema_arrow.equals(schema):
            columns = ", ".join(f"{column.name} ({column.type})" for column in schema)
            raise ValueError(f"its columns must be {columns}")
        table = file.read()
        table.validate(full=True)
        rows: list[dict[str, Any]] = table.to_pylist()
    except (pa.ArrowException, ValueError, OSError) as error:
        raise BundleError(f"{path}: cannot be read: {_one_line(error)}") from error
    return rows


def _row(path: Path, number: int, row: Callable[[dict[str, Any]], T], values: dict[str, Any]) -> T:
    try:
        return row(values)
    except ValueError as error:
        raise BundleError(f"{path}: row {number}: {_one_line(error)}") from error


def _card(path: Path, content: bytes, model: str) -> ModelCard:
    try:
        _refuse_costly(content)
        card = ModelCard.model_validate(yaml.safe_load(content))
        if card.id != model:
            raise ValueError(f"id: is {card.id!r}, not {model!r}")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BundleError(f"{path}: {_one_line(error)}") from error
    return card


def _refuse_costly(content: bytes) -> None:
    """A few aliases can stand for gigabytes, and deep nesting takes for ever to read."""
    if len(content) > _LONGEST_CARD:
        raise ValueError(f"has more than {_LONGEST_CARD} bytes")
    depth = 0
    for event in yaml.parse(content, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST_CARD:
            raise ValueError("has aliases, or is nested too deep")


def _one_line(error: Exception) -> str:
    """What is wrong, and of a row in which field; never its values, which may be answers."""
    text = str(error)
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        text = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
