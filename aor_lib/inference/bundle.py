"""Results in one zip file: ``manifest.json`` with every file's sha256, tables, ``study/``."""

import json
import re
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError, model_validator

from aor_lib.config.params import ModelCard
from aor_lib.config.records import DATASET_VERSION, Label, Response, Row, Status, Trial, Verdict
from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.inference.asking import Provenance
from aor_lib.storage.atomic_write import atomic_write

MANIFEST = "manifest.json"
STUDY = "study"
"""Folder in a bundle with what a study's folder holds beside its results."""

_TABLES = ("trials", "responses", "verdicts")
_MEMBER = re.compile(
    rf"({'|'.join(_TABLES)}).parquet|{STUDY}/(manifest|validation)\.parquet"
    rf"|{STUDY}/clips/[\w.-]+\.flac|{STUDY}/steering/\w+\.parquet"
)
_DAMAGED = (zipfile.BadZipFile, ValueError, OSError, LookupError, TypeError, RecursionError)


class BundleError(AorError, ValueError):
    """A bundle that cannot be made, read or taken in; the message is one line."""


class Bundle(Row, str_strip_whitespace=False):
    """The results of a study: trials, their responses and verdicts, and who answered."""

    format_version: Literal[3] = 3
    dataset_version: Literal[3] = DATASET_VERSION
    aor_version: str  # of whoever exported it
    profile: str
    cards: dict[str, ModelCard]  # one for each model of the trials
    provenance: tuple[Provenance, ...]
    files: dict[str, str] = Field(default={})  # sha256 of each in the zip file
    trials: tuple[Trial, ...]
    responses: tuple[Response, ...]
    verdicts: tuple[Verdict, ...]

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        keys = {trial.key for trial in self.trials}
        status = {row.trial_key: row.status for row in self.responses}
        if len(status) < len(self.responses) or not status.keys() <= keys:
            raise ValueError("responses: one is there twice, or to no trial of the bundle")
        judged = {(row.trial_key, row.judge) for row in self.verdicts}
        answered = {key for key, value in status.items() if value is Status.OK}
        labelled = {row.trial_key for row in self.verdicts if row.label is not Label.UNJUDGED}
        if len(judged) < len(self.verdicts) or not labelled <= answered:
            raise ValueError("verdicts: one is there twice, or on no answer of the bundle")
        models = {trial.arm.model for trial in self.trials}
        if {(name, card.id) for name, card in self.cards.items()} != {(m, m) for m in models}:
            raise ValueError("cards: one for each model of the trials is needed")
        return self


def write_bundle(bundle: Bundle, into: Path, study: Mapping[str, Path]) -> None:
    """Write a bundle, and files of the study by their names in its folder, to a new zip file."""
    if into.exists():
        raise BundleError(f"{into}: exists; remove it or name another file")
    fields = bundle.model_dump(mode="json")
    tables = {f"{name}.parquet": _parquet(fields.pop(name)) for name in _TABLES}
    files = ((f"{STUDY}/{name}", path.read_bytes()) for name, path in study.items())
    into.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(into) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in chain(tables.items(), files):
            fields["files"][name] = sha256(content).hexdigest()
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(fields, indent=2))


def read_bundle(path: Path, extract_to: Path | None = None) -> Bundle:
    """Read a bundle and check all of it; files of the study are extracted to a folder, if given.

    BundleError if it is damaged or of another version; the message quotes no answer.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            fields = json.loads(archive.read(MANIFEST))
            for name in {*archive.namelist(), *fields["files"]} - {MANIFEST}:
                if name not in fields["files"] or not _MEMBER.fullmatch(name):
                    raise ValueError(f"holds {name!r}, which no bundle does")
                content = archive.read(name)
                if sha256(content).hexdigest() != fields["files"][name]:
                    raise ValueError(f"{name}: is not what its sha256 says")
                _, in_study, rest = name.partition(f"{STUDY}/")
                if not in_study:
                    rows = pq.ParquetFile(pa.BufferReader(content)).read().to_pylist()
                    fields[name.removesuffix(".parquet")] = rows
                elif extract_to is not None:
                    (extract_to / rest).parent.mkdir(parents=True, exist_ok=True)
                    (extract_to / rest).write_bytes(content)
        return Bundle.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]  # without the value, which may be an answer
        where = [f"row {part + 1}" if isinstance(part, int) else str(part) for part in first["loc"]]
        problem = ": ".join([*where, first["msg"].removeprefix("Value error, ")])
        raise BundleError(f"{path}: {one_line(problem)}") from error
    except (*_DAMAGED, pa.ArrowException) as error:
        why = f"cannot be read as a bundle of results: {one_line(error)}"
        raise BundleError(f"{path}: {why}; 'aor export' writes one") from error


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue().to_pybytes())
