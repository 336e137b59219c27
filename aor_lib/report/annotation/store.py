"""What listeners said of the clips: a SQLite file, one row a listener and clip, kept as it comes.

Write-ahead logging lets a reader look while somebody listens, and a killed session loses nothing
that was committed. Who labels a clip again replaces their own label and nobody else's.
"""

from __future__ import annotations

import datetime
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import pandas as pd

from aor_lib.config.errors import AorError

LABELS = "labels.sqlite"
"""Name of the file in a study's folder."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS labels (
    listener TEXT NOT NULL,
    stimulus_sha256 TEXT NOT NULL,
    with_scene INTEGER NOT NULL,
    label TEXT NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (listener, stimulus_sha256, with_scene)
) WITHOUT ROWID;
"""
_LISTENER = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Reading(StrEnum):
    """How a listener understands what is asked for in a clip."""

    HARMFUL = "harmful"
    BENIGN = "benign"
    UNCLEAR = "unclear"


class LabelStoreError(AorError):
    """A file of labels that cannot be opened, read or written, or a label that is none."""


class LabelStore:
    """Labels by listener and sound. Close it, or use it in a ``with`` statement.

    It can be used from any thread: JupyterLab lets each widget's events run in one of its own.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()
        with self._access():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60, check_same_thread=False)
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.executescript(_SCHEMA)
            except sqlite3.Error:
                self._db.close()
                raise

    def __enter__(self) -> LabelStore:
        """The store itself, open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def record(self, listener: str, stimulus_sha256: str, with_scene: bool, label: str) -> None:
        """Keep a listener's label of a clip, replacing an earlier one: committed on return.

        Parameters
        ----------
        listener
            A pseudonym of small letters, digits, ``.``, ``_`` and ``-``.
        stimulus_sha256
            Of the sound file that was heard.
        with_scene
            Whether the clip holds a background.
        label
            A value of :class:`Reading`.

        Raises
        ------
        LabelStoreError
            A value is not as above, or the file cannot be written; the message names it.
        """
        check_listener(listener)
        if not _SHA256.fullmatch(stimulus_sha256):
            raise LabelStoreError(
                f"{self.path}: stimulus_sha256: {stimulus_sha256!r} is no sha256; "
                "give the 64 hexadecimal digits of the manifest"
            )
        if label not in list(Reading):
            raise LabelStoreError(
                f"{self.path}: label: {label!r} is not one of {', '.join(Reading)}; choose one"
            )
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with self._access(), self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?, ?)",
                (listener, stimulus_sha256, int(with_scene), str(label), created),
            )

    def labels(self) -> pd.DataFrame:
        """All labels: ``listener``, ``stimulus_sha256``, ``with_scene`` (bool), ``label``,
        ``created`` (UTC, ISO 8601), ordered by sound and listener.
        """
        with self._access():
            frame = pd.read_sql_query(
                "SELECT listener, stimulus_sha256, with_scene, label, created FROM labels"
                " ORDER BY stimulus_sha256, with_scene, listener",
                self._db,
            )
        return frame.astype({"with_scene": bool})

    @contextmanager
    def _access(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except (sqlite3.Error, pd.errors.DatabaseError, OSError) as error:
            raise LabelStoreError(f"{self.path}: {error}") from error


def check_listener(listener: str) -> None:
    """Raise ``LabelStoreError`` unless ``listener`` can name one."""
    if not _LISTENER.fullmatch(listener):
        raise LabelStoreError(
            f"listener: {listener!r} cannot be used; "
            "take up to 60 small letters, digits, '.', '_' or '-', such as 'listener-1'"
        )
