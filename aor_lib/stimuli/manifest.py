"""The manifest and the validation of a study's stimuli, as frames and as records."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from aor_lib.config.errors import AorError
from aor_lib.config.records import DATASET_VERSION, Stimulus

MANIFEST = "manifest.parquet"
VALIDATION = "validation.parquet"


class OldManifestError(AorError):
    """A manifest of an earlier version of the data set; the message says what to do."""


def load_manifest(build: Path | str) -> pd.DataFrame:
    """The manifest; its columns are the fields of :class:`aor_lib.config.records.Stimulus`.

    Raises
    ------
    FileNotFoundError
        The data has not been built; the message says how.
    """
    return _table(Path(build) / MANIFEST, "aor data")


def load_stimuli(build: Path | str) -> list[Stimulus]:
    """The manifest as records.

    Raises
    ------
    FileNotFoundError
        As :func:`load_manifest`.
    OldManifestError
        If it was made with an earlier version of the data set.
    """
    rows = load_manifest(build).astype(object)
    if "scene_kind" not in rows:
        raise OldManifestError(
            f"{Path(build) / MANIFEST}: is of version 1 of the data set, and this aor has version "
            f"{DATASET_VERSION}; make it again with 'aor data', or 'aor import-clips'"
        )
    rows = rows.where(rows.notna(), None)
    return [Stimulus.model_validate(row) for row in rows.to_dict("records")]


def load_validation(build: Path | str) -> pd.DataFrame:
    """Measurements of ``aor validate``, one row per stimulus: the fields of
    :class:`aor_lib.stimuli.clip_measurement.ClipMeasurement`.

    Raises
    ------
    FileNotFoundError
        The data has not been validated; the message says how.
    """
    return _table(Path(build) / VALIDATION, "aor validate")


def _table(path: Path, verb: str) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; run '{verb}' first")
    return pd.read_parquet(path)
