"""Clips of an export in place of synthesis.

Another processor's synthesis differs in a bit, so two people who build the benchmark have two
benchmarks. Whoever takes the clips of one export has the same bytes as everybody who does.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aor_lib.config.records import DATASET_VERSION, Stimulus
from aor_lib.config.typed_yaml import one_line
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.stimuli.manifest import DatasetError, sound_files
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
    for row in _rows(source):
        if (spec := specs.get(row["stimulus_id"])) is None:
            continue
        sounds = [row.pop("audio"), *row.pop("history_audio")]
        contents = [sound["bytes"] for sound in sounds if sound is not None]
        asked = spec.row_fields | {"lead_in_s": lead_in_s if spec.condition.has_audio else None}
        for name, value in asked.items():
            if row[name] != value:
                raise DatasetError(
                    f"--from {source}: {spec.stimulus_id}: {name}: {row[name]!r}, but the profile "
                    f"asks for {value!r}; take an export of this profile, or leave out --from"
                )
        stimulus = Stimulus.model_validate(row)
        for (path, sha256), content in zip(sound_files([stimulus]), contents, strict=True):
            if hashlib.sha256(content).hexdigest() != sha256:
                raise DatasetError(
                    f"--from {source}: {path}: sha256 is not the row's; fetch the export again"
                )
            with atomic_write(build / path) as stream:
                stream.write(content)
        yield stimulus


def _rows(source: str) -> Iterator[dict[str, Any]]:
    from datasets import Audio, load_dataset

    name, _, revision = source.partition("@")
    config = f"v{DATASET_VERSION}"
    try:
        splits = load_dataset(name, config, revision=revision or None, streaming=True)
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"--from {source}: is no data set of version {DATASET_VERSION}; name a folder that "
            "'aor export' wrote, or OWNER/NAME@REVISION on the hub: " + one_line(error, 200)
        ) from None
    as_bytes = Audio(decode=False)
    for split in splits.values():
        yield from split.cast_column("audio", as_bytes).cast_column("history_audio", [as_bytes])
