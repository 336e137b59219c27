"""A library of recorded backgrounds, filled from other people's collections.

The library is a folder: ``clips/`` with mono FLAC at 24 kHz, and ``recordings.parquet`` with a
:class:`Recording` for each clip and scene that it may be heard in.
"""

from __future__ import annotations

import functools
import hashlib
import io
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import soundfile
from pydantic import Field

from aor_lib.audio.mixing import Samples
from aor_lib.audio.recordings.collections import ListedClip, Mapping, read_collection, read_mapping
from aor_lib.audio.sound_files import (
    ImportReport,
    Report,
    UnusableError,
    check_folders,
    contained,
    file_sha256,
    flac,
    one_line,
    read_sound,
)
from aor_lib.config.errors import AorError
from aor_lib.config.params import PARAMS
from aor_lib.config.records import Identifier, Row, Sha256, content_hash
from aor_lib.storage.whole_file import whole_file

TABLE = "recordings.parquet"
MAX_DURATION_S = 120.0


class LibraryError(AorError):
    """A library that is not there, or not as it was written; the message says what to do."""


class Recording(Row):
    """One clip of the library in one of its scenes: a row of its table."""

    file: Annotated[str, Field(pattern=r"^clips/[0-9a-f]{32}\.flac$")]
    scene: Identifier
    label: str = Field(description="The first of the clip's labels that fits the scene.")
    source: str = Field(description="The collection.")
    licence: str
    author: str
    original: str = Field(description="The file's name in the collection.")
    original_sha256: Sha256
    sha256: Sha256 = Field(description="Of the library's file.")
    duration_s: float


_Index = tuple[dict[str, tuple[Recording, ...]], str]


def import_recordings(
    folder: Path, into: Path, report: Report, mapping: Path = PARAMS / "recordings.yaml"
) -> ImportReport:
    """Add a collection's usable clips to a library, with their licences and authors.

    A sound that the library has is not added again; if it came from the same place, its scenes,
    licence and author become those that ``mapping`` and the collection now state. ``report`` is
    called with the clips done and their number.

    Raises
    ------
    CollectionError, ParamsError, LibraryError, OSError
        As said by their messages; the library's table is as it was.
    """
    fits = read_mapping(mapping)
    check_folders(folder, into)
    collection = read_collection(folder)
    (into / "clips").mkdir(parents=True, exist_ok=True)
    filling = _Filling(into)
    imported, skipped = [], []
    for done, clip in enumerate(collection.clips, start=1):
        name = one_line(clip.name)
        try:
            filling.add(contained(folder, clip.name), collection.source, clip, fits)
            imported.append(name)
        except UnusableError as error:
            skipped.append((name, str(error)))
        report(done, len(collection.clips))
    filling.write()
    return ImportReport(tuple(imported), tuple(skipped))


def recordings_of(library: Path, scene: str) -> tuple[Recording, ...]:
    """A library's recordings for a scene, in an order that only their content decides.

    Raises
    ------
    LibraryError
        The library is missing or its table is damaged.
    """
    return _index(library)[0].get(scene, ())


def library_sha256(library: Path) -> str:
    """Hash of all recordings of a library. Raises as :func:`recordings_of`."""
    return _index(library)[1]


class _Filling:
    """A library's rows while clips are added, by the hash of the file that they came from."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._rows: dict[str, list[Recording]] = {}
        for row in _read_table(library) if (library / TABLE).is_file() else ():
            self._rows.setdefault(row.original_sha256, []).append(row)
        self._origins = {rows[0].sha256: origin for origin, rows in self._rows.items()}

    def add(self, path: Path, source: str, clip: ListedClip, fits: Mapping) -> None:
        """Store a clip and its rows. Raises UnusableError where the library gains no sound."""
        original, origin = one_line(clip.name), file_sha256(path)
        known = self._rows[origin][0] if origin in self._rows else None
        if known is not None and (known.source, known.original) != (source, original):
            raise UnusableError(f"is the same file as {known.source}/{known.original}")
        self._rows.pop(origin, None)
        label_in = fits.scenes_with_labels(clip.labels)
        audio = flac(_within_full_scale(read_sound(path, MAX_DURATION_S)), "PCM_16")
        sha256 = hashlib.sha256(audio).hexdigest()
        twin = self._rows.get(self._origins.get(sha256, ""))
        if twin is not None:
            raise UnusableError(f"is the same sound as {twin[0].source}/{twin[0].original}")
        file = f"clips/{sha256[:32]}.flac"
        with whole_file(self._library / file) as stream:
            stream.write(audio)
        self._origins[sha256] = origin
        self._rows[origin] = [
            Recording(
                file=file,
                scene=scene,
                label=label,
                source=source,
                licence=clip.licence,
                author=clip.author,
                original=original,
                original_sha256=origin,
                sha256=sha256,
                duration_s=soundfile.info(io.BytesIO(audio)).duration,
            )
            for scene, label in label_in.items()
        ]
        if known is not None:
            raise UnusableError("is in the library already")

    def write(self) -> None:
        """Put the rows in the library's table, in an order that does not depend on anything."""
        rows = [row.model_dump() for rows in self._rows.values() for row in rows]
        if rows or (self._library / TABLE).is_file():
            rows.sort(key=lambda row: (row["sha256"], row["scene"]))
            frame = pd.DataFrame(rows, columns=list(Recording.model_fields))
            with whole_file(self._library / TABLE) as stream:
                frame.to_parquet(stream, index=False)


def _within_full_scale(samples: Samples) -> Samples:
    """Float files and resampling can exceed 16 bit. Mixing sets a background's level anyway."""
    return samples / max(1.0, float(np.abs(samples).max()))


def _read_table(library: Path) -> list[Recording]:
    path = library / TABLE
    try:
        return [Recording.model_validate(row) for row in pd.read_parquet(path).to_dict("records")]
    except FileNotFoundError as error:
        raise LibraryError(
            f"{library}: holds no {TABLE}; run 'aor import-recordings FOLDER --into {library}'"
        ) from error
    except (OSError, ValueError) as error:
        raise LibraryError(
            f"{path}: cannot be read; remove it and import again ({one_line(str(error))})"
        ) from error


def _index(library: Path) -> _Index:
    """A library's recordings by scene and its hash, read anew when the table has changed."""
    path = library / TABLE
    stat = path.stat() if path.is_file() else None
    return _index_of(library, stat.st_mtime_ns if stat else 0, stat.st_size if stat else 0)


@functools.lru_cache(maxsize=4)
def _index_of(library: Path, _mtime_ns: int, _size: int) -> _Index:
    rows = sorted(_read_table(library), key=lambda row: (row.sha256, row.scene))
    by_scene: dict[str, tuple[Recording, ...]] = {}
    for row in rows:
        by_scene[row.scene] = (*by_scene.get(row.scene, ()), row)
    return by_scene, content_hash([row.model_dump() for row in rows])
