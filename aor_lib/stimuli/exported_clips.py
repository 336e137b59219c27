"""Clips that somebody else made: an export's files in place of synthesis.

Another processor's synthesis differs in a bit, so two people who build the benchmark have two
benchmarks. Whoever takes the clips of one export has the same bytes as everybody who does.
"""

import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from aor_lib.config.records import DATASET_VERSION, Stimulus
from aor_lib.config.typed_yaml import one_line
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.stimuli.manifest import DatasetError, sound_files, stimuli_in, verify_dataset
from aor_lib.storage.atomic_write import atomic_write

Exported = dict[str, tuple[Stimulus, Path]]
"""By stimulus id: the manifest row, and the folder that its paths are relative to."""


def find_export(source: str) -> Path:
    """The folder of an export: ``source`` itself, or a data set on the hub, fetched.

    Parameters
    ----------
    source
        A folder that ``aor export`` wrote, or ``OWNER/NAME[@REVISION]`` on the Hugging Face hub.

    Raises
    ------
    DatasetError
        There is no such folder, and no such data set either.
    """
    if Path(source).is_dir():
        return Path(source)
    name, _, revision = source.partition("@")
    if name.count("/") != 1 or name.startswith((".", "/")):
        raise DatasetError(
            f"--from {source}: no such folder; name one that 'aor export' wrote, or a data set on "
            "the hub as OWNER/NAME@REVISION"
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, repo_type="dataset", revision=revision or None))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        what = one_line(error, 200)
        raise DatasetError(f"--from {source}: cannot be fetched: {what}") from None


def exported_stimuli(export: Path) -> Exported:
    """The stimuli of an export, without their sound.

    Raises
    ------
    DatasetError
        The folder holds no tables of an export, or they are of another version.
    """
    tables = [*sorted(export.glob("*/metadata.parquet")), *sorted(export.glob("text/*.parquet"))]
    if not tables:
        raise DatasetError(
            f"{export}: holds no metadata.parquet; name a folder that 'aor export' wrote"
        )
    found: Exported = {}
    for path in tables:
        version = (
            (pq.read_schema(path).metadata or {}).get(b"aor_dataset_version", b"none").decode()
        )
        if version != str(DATASET_VERSION):
            raise DatasetError(
                f"{path}: is of version {version} of the data set, and this aor has version "
                f"{DATASET_VERSION}; take an export of that version"
            )
        rows = pd.read_parquet(path).drop(columns="file_name", errors="ignore")
        for stimulus in stimuli_in(rows, path, "take an export of that version"):
            found[stimulus.stimulus_id] = (stimulus, path.parent)
    return found


def take_clip(spec: StimulusSpec, exported: Exported, lead_in_s: float, build: Path) -> Stimulus:
    """Copy a stimulus' files from an export into a build.

    Returns
    -------
    Its manifest row.

    Raises
    ------
    DatasetError
        It was made to another design, or a file is missing or altered.
    """
    stimulus, folder = exported[spec.stimulus_id]
    row = stimulus.model_dump()
    for name, value in _design(spec, lead_in_s).items():
        if row[name] != value:
            raise DatasetError(
                f"{folder}: {spec.stimulus_id}: {name}: {row[name]!r}, but the profile asks for "
                f"{value!r}; take an export of this profile, or leave out --from"
            )
    verify_dataset([stimulus], folder, "fetch the export again")
    for path, _ in sound_files([stimulus]):
        with (folder / path).open("rb") as clip, atomic_write(build / path) as target:
            shutil.copyfileobj(clip, target)
    return stimulus


def _design(spec: StimulusSpec, lead_in_s: float) -> dict[str, object]:
    """Fields of a manifest row that follow from the design alone."""
    spoken = {"voice": spec.voice, "emotion": spec.emotion, "speaking_rate": spec.speaking_rate}
    return {
        "text": spec.utterance.text,
        "intent": spec.utterance.intent,
        "condition": spec.condition,
        "block": spec.block,
        "background_scene": spec.scene.id if spec.scene else None,
        "snr_db": spec.snr_db,
        "seed": spec.seed,
        "split": spec.utterance.split,
        **(spoken | {"lead_in_s": lead_in_s} if spec.condition.has_audio else {}),
    }
