"""A results bundle as a folder: written whole or not at all, and trusted only when checked.

Every file is checked against its hash and every row against its type. Files that the format does
not name are not opened, and nothing that is in one is ever run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from aor_lib.config.records import DATASET_VERSION, Row
from aor_lib.config.typed_yaml import one_line
from aor_lib.inference.bundles.schema import FORMAT_VERSION, Bundle, BundleError, Manifest
from aor_lib.storage.atomic_write import atomic_folder

MANIFEST = "manifest.json"

_FILES = {
    "trials": "trials.parquet",
    "responses": "responses.parquet",
    "verdicts": "verdicts.parquet",
    "cards": "cards.json",
}
"""Where the fields of a bundle are that the manifest does not hold."""


def write_bundle(bundle: Bundle, into: Path) -> None:
    """Write a bundle to a new folder, which appears whole or not at all.

    The same results give the same bytes.

    Raises
    ------
    FileExistsError
        If the folder is in use.
    OSError
        If the folder cannot be written.
    """
    tables = {"trials": bundle.trials, "responses": bundle.responses, "verdicts": bundle.verdicts}
    files = {_FILES[name]: _parquet(rows) for name, rows in tables.items()}
    files[_FILES["cards"]] = _json(bundle.model_dump(mode="json")["cards"])
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        dataset_version=DATASET_VERSION,
        aor_version=bundle.aor_version,
        profile=bundle.profile,
        files={name: sha256(content).hexdigest() for name, content in files.items()},
        answered=bundle.provenance,
        judged=_judged(bundle),
    )
    files[MANIFEST] = _json(manifest.model_dump(mode="json"))
    with atomic_folder(into) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)


def read_bundle(folder: Path) -> Bundle:
    """Read a bundle and check all of it.

    Raises
    ------
    BundleError
        If it is damaged or of another version; the message names the file, the row and the field,
        and quotes no answer.
    OSError
        If a file cannot be read.
    """
    manifest = _read_manifest(folder)
    fields: dict[str, Any] = {
        "profile": manifest.profile,
        "aor_version": manifest.aor_version,
        "provenance": manifest.answered,
    }
    for field, name in _FILES.items():
        path = folder / name
        if name not in manifest.files or not path.is_file():
            raise BundleError(f"{path}: is missing; copy the whole bundle again")
        content = path.read_bytes()
        if sha256(content).hexdigest() != manifest.files[name]:
            raise BundleError(f"{path}: is not what its sha256 says; copy the whole bundle again")
        try:
            fields[field] = _rows(content) if path.suffix == ".parquet" else json.loads(content)
        except (pa.ArrowException, ValueError, OSError, RecursionError) as error:
            raise BundleError(f"{path}: cannot be read: {one_line(error)}") from error
    try:
        return Bundle.model_validate(fields)
    except ValidationError as error:
        raise BundleError(f"{folder}: {first_problem(error)}") from error


def first_problem(error: ValidationError) -> str:
    """First problem as 'file: row: field: message', without the value, which may be an answer."""
    first = error.errors(include_input=False)[0]
    field, *where = first["loc"] or [""]
    if where and isinstance(where[0], int):
        where[0] = f"row {where[0] + 1}"
    parts = [_FILES.get(str(field), field), *where, first["msg"].removeprefix("Value error, ")]
    return one_line(": ".join(str(part) for part in parts if part))


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise BundleError(f"{folder}: is no results bundle: it has no {MANIFEST}")
    try:
        data = json.loads(path.read_bytes())
        version = data["format_version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BundleError(f"{path}: is not the manifest of a results bundle") from error
    if (dataset := data.get("dataset_version")) != DATASET_VERSION:
        raise BundleError(
            f"{path}: dataset_version: holds results on version {dataset!r} of the data set, and "
            f"this aor has version {DATASET_VERSION}, of other words and scenes; run the models "
            "on that ('aor data', 'aor run') and export their results again"
        )
    if version != FORMAT_VERSION:
        raise BundleError(
            f"{path}: format_version: is {version!r}, and this aor reads {FORMAT_VERSION}; "
            "use the same version of aor where it is exported and where it is imported"
        )
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        raise BundleError(f"{path}: {first_problem(error)}") from error


def _rows(content: bytes) -> list[dict[str, Any]]:
    table = pq.ParquetFile(pa.BufferReader(content)).read()
    table.validate(full=True)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _parquet(rows: Sequence[Row]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row.model_dump(mode="json") for row in rows]), sink)
    return bytes(sink.getvalue().to_pybytes())


def _json(content: object) -> bytes:
    return f"{json.dumps(content, indent=2, ensure_ascii=False)}\n".encode()


def _judged(bundle: Bundle) -> dict[str, tuple[str, ...]]:
    models = {row.trial_key: row.trial.arm.model for row in bundle.trials}
    judges = {(models[v.trial_key], f"{v.judge} {v.judge_version}") for v in bundle.verdicts}
    return {
        model: tuple(judge for of, judge in sorted(judges) if of == model) for model in bundle.cards
    }
