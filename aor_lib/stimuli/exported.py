"""Clips of an export in place of synthesis.

Another processor's synthesis differs in a bit, so two people who build the benchmark have two
benchmarks. Whoever takes the clips of one export has the same bytes as everybody who does.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from aor_lib.config.records import DATASET_VERSION, Stimulus
from aor_lib.config.typed_yaml import one_line
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.stimuli.manifest import DatasetError, sound_files, stimuli_in
from aor_lib.storage.atomic_write import atomic_write


def take_clips(
    source: str, specs: Mapping[str, StimulusSpec], lead_in_s: float, build: Path
) -> Iterator[Stimulus]:
    """Copy stimuli from an export into a build; yields each manifest row, its files written.

    Parameters
    ----------
    source
        A folder that ``aor export`` wrote, or ``OWNER/NAME[@REVISION]`` on the Hugging Face hub.
    specs
        The stimuli to take, where the export has them, by id.
    lead_in_s
        Background before the speech that the study asks for, in seconds.
    build
        Folder of the study.

    Raises
    ------
    DatasetError
        There is no such export, it is of another version or design, or a clip is altered.
    """
    export = Path(source) if Path(source).is_dir() else _fetch(source)
    tables = sorted(export.glob(f"data/*.v{DATASET_VERSION}.parquet"))
    if not tables:
        raise DatasetError(
            f"{source}: holds no data/*.v{DATASET_VERSION}.parquet; name an export by an aor with "
            f"version {DATASET_VERSION} of the data set"
        )
    for path in tables:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=32):
            rows = batch.to_pandas()
            rows = rows[rows["stimulus_id"].isin(specs.keys())]
            audio, earlier = rows.pop("audio"), rows.pop("history_audio")
            stimuli = stimuli_in(rows, path, "take an export of that version")
            for stimulus, clip, turns in zip(stimuli, audio, earlier, strict=True):
                _check_design(path, stimulus, specs[stimulus.stimulus_id], lead_in_s)
                sounds = [sound["bytes"] for sound in (clip, *turns) if sound is not None]
                _write_sounds(path, stimulus, sounds, build)
                yield stimulus


def _fetch(source: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    name, _, revision = source.partition("@")
    try:
        return Path(snapshot_download(name, repo_type="dataset", revision=revision or None))
    except (HFValidationError, OSError) as error:
        raise DatasetError(
            f"--from {source}: is no folder that 'aor export' wrote, and no data set OWNER/NAME"
            f"@REVISION that can be fetched from the hub: {one_line(error, 200)}"
        ) from None


def _check_design(path: Path, stimulus: Stimulus, spec: StimulusSpec, lead_in_s: float) -> None:
    row = stimulus.model_dump()
    asked = spec.row_fields | {"lead_in_s": lead_in_s if spec.condition.has_audio else None}
    for name, value in asked.items():
        if row[name] != value:
            raise DatasetError(
                f"{path}: {spec.stimulus_id}: {name}: {row[name]!r}, but the profile asks for "
                f"{value!r}; take an export of this profile, or leave out --from"
            )


def _write_sounds(path: Path, stimulus: Stimulus, sounds: Sequence[bytes], build: Path) -> None:
    for (name, sha256), sound in zip(sound_files([stimulus]), sounds, strict=True):
        if hashlib.sha256(sound).hexdigest() != sha256:
            raise DatasetError(f"{path}: {name}: sha256 is not the row's; fetch the export again")
        with atomic_write(build / name) as stream:
            stream.write(sound)
