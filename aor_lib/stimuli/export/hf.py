"""A built data set as a folder that ``datasets.load_dataset`` reads.

The layout is Hugging Face's audio folder (https://huggingface.co/docs/datasets/audio_dataset):
``dev/`` and ``test/`` each hold ``metadata.parquet`` and the clips it names. Stimuli without sound
are in ``text/dev.parquet`` and ``text/test.parquet``: an audio folder's reader takes no row without
a file, and one reader serves all configurations of a folder.
"""

import os
import shutil
from pathlib import Path

from aor_lib.config.params import StudyParams
from aor_lib.config.records import Stimulus
from aor_lib.stimuli.export.croissant import write_croissant
from aor_lib.stimuli.export.data_card import data_card, readme
from aor_lib.stimuli.export.tables import split_tables
from aor_lib.stimuli.manifest import (
    MANIFEST,
    DatasetError,
    load_stimuli,
    sound_files,
    verify_dataset,
)
from aor_lib.storage.atomic_write import atomic_folder


def export_hf(build: Path, into: Path, study: StudyParams) -> Path:
    """Export a built study: tables, clips, data card (README.md) and croissant.json.

    Clips are hard links where the file system allows, else copies: the same bytes as in ``build``.
    The same build gives the same bytes. ``into`` appears whole or not at all.

    Returns
    -------
    ``into``.

    Raises
    ------
    FileExistsError
        ``into`` is in use.
    FileNotFoundError
        There is no manifest, or the clips have not been validated.
    DatasetError
        The manifest is empty, or a clip is missing, altered or outside the build.
    """
    with atomic_folder(into) as folder:
        stimuli = load_stimuli(build)
        if not stimuli:
            raise DatasetError(f"{build / MANIFEST}: holds no stimuli; run 'aor data' first")
        verify_dataset(stimuli, build)
        _write(stimuli, study, build, folder)
    return into


def _write(stimuli: list[Stimulus], study: StudyParams, build: Path, into: Path) -> None:
    tables = split_tables(stimuli)
    for table in tables:
        (into / table.folder).mkdir(parents=True, exist_ok=True)
        table.write(into)
        for path, _ in sound_files(table.stimuli):
            target = into / table.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(build / path, target)
    (into / "README.md").write_text(readme(build, study), encoding="utf-8")
    write_croissant(tables, data_card(build, study), study, into)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
