"""Locks on trials, so that two runs on one store never ask the same one.

A lock is a row in the store that names the run which holds it. A run lives as long as it holds a
file of its own beside the store; the system frees that file when the process ends, in whatever
way. No lock outlives its run, and there is no clock to agree on.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from aor_lib.inference.store import Store

_LOOK_EVERY_S = 0.2


class TrialLocks:
    """The trials that one run is asking. Use it in a ``with`` statement."""

    def __init__(self, store: Store) -> None:
        self._store, self._run = store, uuid.uuid4().hex
        self._alive = self._file(self._run)

    def __enter__(self) -> TrialLocks:
        """Begin the run, with no trial locked."""
        self._alive.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        """End the run, and with it all its locks."""
        self._remove(self._alive)

    def take(self, keys: Sequence[str]) -> str | None:
        """Lock these trials. If another run holds one, lock none and return its key."""
        with self._store.transaction() as db:
            held = self._store.read(
                f"SELECT run, min(trial_key) FROM locks WHERE run != ? AND trial_key IN"
                f" ({', '.join('?' * len(keys))}) GROUP BY run",
                (self._run, *keys),
            )
            for run, key in held:
                if not self._has_ended(run):
                    return str(key)
            rows = [(key, self._run) for key in keys]
            db.executemany("INSERT OR REPLACE INTO locks (trial_key, run) VALUES (?, ?)", rows)
        return None

    def release(self, keys: Sequence[str]) -> None:
        """Give up the locks on these trials."""
        with self._store.transaction() as db:
            db.executemany("DELETE FROM locks WHERE trial_key = ?", [(key,) for key in keys])

    def wait(self, key: str) -> None:
        """Return when no other run holds this trial."""
        query = "SELECT run FROM locks WHERE trial_key = ? AND run != ?"
        while held := self._store.read(query, (key, self._run)):
            [[run]] = held
            if self._has_ended(run, _LOOK_EVERY_S):
                return

    def _has_ended(self, run: str, within_s: float = 0) -> bool:
        file = self._file(run)
        try:
            file.acquire(timeout=within_s)
        except Timeout:
            return False
        self._remove(file)
        return True

    def _file(self, run: str) -> FileLock:
        return FileLock(self._store.path.with_name(f"{self._store.path.name}-run-{run}"))

    @staticmethod
    def _remove(file: FileLock) -> None:
        file.release()
        Path(file.lock_file).unlink(missing_ok=True)
