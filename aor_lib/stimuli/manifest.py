"""The manifest of a study's stimuli, the files that it names, and their validation."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from aor_lib.config.errors import AorError
from aor_lib.config.records import DATASET_VERSION, Stimulus

MANIFEST = "manifest.parquet"
VALIDATION = "validation.parquet"


class DatasetError(AorError):
    """Stimuli that are not what the manifest says; the message names the file."""


def load_manifest(build: Path | str) -> pd.DataFrame:
    """The manifest; its columns are the fields of :class:`aor_lib.config.records.Stimulus`."""
    return _table(Path(build) / MANIFEST, "aor data")


def load_stimuli(build: Path | str) -> list[Stimulus]:
    """The manifest as records; ``DatasetError`` if it is of an earlier version of the data set."""
    rows = load_manifest(build).astype(object)
    if "scene_kind" not in rows:
        raise DatasetError(
            f"{Path(build) / MANIFEST}: is of version 1 of the data set, and this aor has version "
            f"{DATASET_VERSION}; make it again with 'aor data', or 'aor import-clips'"
        )
    rows = rows.where(rows.notna(), None)
    return [Stimulus.model_validate(row) for row in rows.to_dict("records")]


def load_validation(build: Path | str) -> pd.DataFrame:
    """Measurements of ``aor validate``, one row per stimulus: the fields of
    :class:`aor_lib.stimuli.clip_measurement.ClipMeasurement`.
    """
    return _table(Path(build) / VALIDATION, "aor validate")


def verify_dataset(stimuli: Iterable[Stimulus], build: Path) -> None:
    """Check every sound file of a study, those of earlier turns too, against its hash.

    ``DatasetError`` names the first that is missing or altered.
    """
    for name, sha256 in sound_files(stimuli):
        path = build / name
        if not path.is_file():
            raise DatasetError(f"{path}: is missing; run 'aor data' to make it again")
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise DatasetError(f"{path}: sha256 is not the manifest's; run 'aor data' to mend it")


def sound_files(stimuli: Iterable[Stimulus]) -> list[tuple[str, str]]:
    """Path and sha256 of each sound file once: the clips and those of earlier turns."""
    files: dict[tuple[str, str], None] = {}
    for stimulus in stimuli:
        if stimulus.path is not None:
            files[stimulus.path, stimulus.sha256] = None
        for turn in json.loads(stimulus.history):
            if turn.get("path") is not None:
                files[turn["path"], turn["sha256"]] = None
    return list(files)


def _table(path: Path, verb: str) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; run '{verb}' first")
    return pd.read_parquet(path)
