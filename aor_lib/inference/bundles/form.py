"""A results bundle as a folder: what its files are called and hold.

``manifest.json``
    The format's version, the sha256 of every other file, and who answered and judged.
``trials.parquet``, ``responses.parquet``, ``verdicts.parquet``
    A row each of :class:`aor_lib.config.records.Trial` (with its arm), ``Response`` and
    ``Verdict``.
``models/ID.yaml``
    The model cards.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import pyarrow as pa
from pydantic import Json

from aor_lib.config.records import (
    Arm,
    Generation,
    Identifier,
    Response,
    Row,
    Sha256,
    Trial,
    Verdict,
)
from aor_lib.inference.provenance import Provenance

FORMAT_VERSION: Literal[1] = 1
MANIFEST = "manifest.json"
TRIALS, RESPONSES, VERDICTS = "trials.parquet", "responses.parquet", "verdicts.parquet"


class TrialRow(Row, str_strip_whitespace=False):
    """A trial with all that its key is made of; ``generation`` is JSON."""

    trial_key: Sha256
    stimulus_id: Identifier
    stimulus_sha256: Sha256
    model: Identifier
    revision: str
    settings_sha256: Sha256
    mitigation: Identifier
    instruction: str | None
    generation: Json[Generation]
    steps: tuple[str, ...]

    def trial(self) -> Trial:
        """The trial. Raises ``ValueError`` if its key is another."""
        arm = {name: getattr(self, name) for name in Arm.__dataclass_fields__}
        trial = Trial(self.stimulus_id, self.stimulus_sha256, Arm(**arm))
        if trial.key != self.trial_key:
            raise ValueError("trial_key: is not the hash of what the row says was asked")
        return trial


class JudgeVersion(Row):
    """A judge whose verdicts are in a bundle."""

    judge: Identifier
    version: str


class Manifest(Row):
    """What ``manifest.json`` says. ``judged`` is by model."""

    format_version: Literal[1]
    aor_version: str
    profile: Identifier
    files: dict[str, Sha256]
    answered: tuple[Provenance, ...]
    judged: dict[Identifier, tuple[JudgeVersion, ...]]


_TEXT = pa.string()
SCHEMAS = {
    TRIALS: pa.schema(dict.fromkeys(TrialRow.model_fields, _TEXT) | {"steps": pa.list_(_TEXT)}),
    RESPONSES: pa.schema(
        dict.fromkeys(Response.model_fields, _TEXT)
        | {"latency_s": pa.float64(), "tokens": pa.int64()}
    ),
    VERDICTS: pa.schema(
        dict.fromkeys(Verdict.model_fields, _TEXT)
        | {"score": pa.float64(), "flags": pa.list_(_TEXT)}
    ),
}
"""Columns of the tables, whatever the rows hold."""


def card_file(model: str) -> str:
    """Where the card of a model is."""
    return f"models/{model}.yaml"


def sha256(content: bytes) -> str:
    """Hash of a file."""
    return hashlib.sha256(content).hexdigest()
