"""The manifest of a study's stimuli, the files that it names, and their validation."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

import pandas as pd

from aor_lib.config.profile import Profile
from aor_lib.config.records import DATASET_VERSION, Stimulus
from aor_lib.config.typed_yaml import AorError, ParamsError, validated
from aor_lib.storage.atomic_write import atomic_write

MANIFEST = "manifest.parquet"
VALIDATION = "validation.parquet"


class DatasetError(AorError):
    """Error for stimuli that do not match their manifest, profile or version."""


def load_manifest(build: Path | str) -> pd.DataFrame:
    """Read the manifest; its columns are the fields of :class:`aor_lib.config.records.Stimulus`."""
    return _table(Path(build) / MANIFEST, "aor data")


def load_validation(build: Path | str) -> pd.DataFrame:
    """Read the ``problems`` and measurements of each stimulus that ``aor validate`` found."""
    return _table(Path(build) / VALIDATION, "aor validate")


def _table(path: Path, verb: str) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; run '{verb}' first")
    return pd.read_parquet(path)


def load_stimuli(build: Path | str) -> list[Stimulus]:
    """Read the manifest as records; ``DatasetError`` if it has an earlier data set version."""
    rows = load_manifest(build).astype(object)
    rows = rows.where(rows.notna(), None)
    try:
        return [validated(row, Stimulus, "a row") for row in rows.to_dict("records")]
    except ParamsError as error:
        raise DatasetError(
            f"{Path(build) / MANIFEST}: is not of version {DATASET_VERSION} of the data set "
            f"({error}); make it again with 'aor data', or import its clips into a new folder"
        ) from error


def write_manifest(rows: Iterable[Stimulus], build: Path, profile: Profile | None = None) -> Path:
    """Write the manifest of a study, with its profile as an attribute, and return its path."""
    frame = pd.DataFrame([row.model_dump(mode="json") for row in rows])
    frame.attrs = {"profile": profile.model_dump_json()} if profile else {}
    with atomic_write(build / MANIFEST) as stream:
        frame.to_parquet(stream, index=False)
    return build / MANIFEST


def sound_files(stimuli: Iterable[Stimulus]) -> list[tuple[str, str]]:
    """Path and sha256 of every sound file, also of earlier turns; ``DatasetError`` if outside."""
    files: dict[tuple[str, str], None] = {}
    for stimulus in stimuli:
        of_clip = {"path": stimulus.path, "sha256": stimulus.sha256}
        for sound in (of_clip, *json.loads(stimulus.history)):
            if (path := sound.get("path")) is None:
                continue
            if PurePath(path).is_absolute() or ".." in PurePath(path).parts:
                raise DatasetError(
                    f"{stimulus.stimulus_id}: path: {path!r} is not within the data set's folder"
                )
            files[path, sound["sha256"]] = None
    return list(files)


def verify_dataset(stimuli: Sequence[Stimulus], build: Path) -> None:
    """Check every sound file of a study; ``DatasetError`` names a missing or altered file."""
    imported = any(stimulus.block == "imported" for stimulus in stimuli)
    remedy = "import the folder again" if imported else "run 'aor data' to make it again"
    for name, sha256 in sound_files(stimuli):
        path = build / name
        if not path.is_file():
            raise DatasetError(f"{path}: is missing; {remedy}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise DatasetError(f"{path}: sha256 differs from the manifest; {remedy}")
