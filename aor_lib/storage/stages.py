"""Stages of a study that know when their output is current, so that they return at once."""

import json
from pathlib import Path

from aor_lib.config.records import content_hash
from aor_lib.storage.atomic_write import atomic_write

STATE = "study.sha256"
"""The file in a study's folder that changes exactly when something that pages show does."""


def up_to_date(build: Path, stage: str, made_from: object) -> bool:
    """Tell if a stage of the study, such as ``validate``, was last finished from the same inputs.

    ``made_from`` is everything that can change the stage's output (JSON-like): the hashes of the
    files it reads, its settings, its ``VERSION``.
    """
    try:
        record = json.loads(_record(build, stage).read_bytes())
    except (OSError, ValueError):
        return False
    return bool(record == {"made_from": content_hash(made_from)})


def finished(build: Path, stage: str, made_from: object) -> None:
    """Record that a stage's output is whole, and from which inputs it was made."""
    path = _record(build, stage)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write(json.dumps({"made_from": content_hash(made_from)}).encode())


def _record(build: Path, stage: str) -> Path:
    return build / ".stages" / f"{stage}.json"
