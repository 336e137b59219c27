"""A library of recorded backgrounds: a folder with ``clips/`` and a table of their scenes.

Clips are mono FLAC at 24 kHz; ``recordings.parquet`` holds a :class:`Recording` per clip and scene.
"""

import functools
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field

from aor_lib.config.records import Identifier, Row, Sha256, content_hash
from aor_lib.config.typed_yaml import AorError, one_line

TABLE = "recordings.parquet"


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


def recordings_of(library: Path, scene: str) -> list[Recording]:
    """A library's recordings for a scene, in an order that only their content decides."""
    return [row for row in read_table(library) if row.scene == scene]


def library_sha256(library: Path) -> str:
    """Hash of all recordings of a library; ``LibraryError`` as :func:`read_table`."""
    return content_hash([row.model_dump() for row in read_table(library)])


def read_table(library: Path) -> list[Recording]:
    """All rows of a library's table, by content; LibraryError if it is missing or damaged."""
    path = library / TABLE
    if not path.is_file():
        raise LibraryError(
            f"{library}: holds no {TABLE}; run 'aor import FOLDER --recordings {library}'"
        )
    return _rows(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _rows(path: Path, _mtime_ns: int) -> list[Recording]:
    try:
        rows = [Recording.model_validate(row) for row in pd.read_parquet(path).to_dict("records")]
    except (OSError, ValueError) as error:
        why = f"cannot be read; remove it and import again ({one_line(error)})"
        raise LibraryError(f"{path}: {why}") from error
    return sorted(rows, key=lambda row: (row.sha256, row.scene))
