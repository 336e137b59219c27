"""Who is asking which trials, so that two runs on one store never ask the same one.

A claim is a lock on one byte of a file beside the store, at a place that the trial's key gives.
The system drops a process' locks when it ends, in whatever way. No claim outlives its run, there
is no clock to agree on, and whoever waits goes on at once. SQLite itself rests on such locks
(``fcntl``), so they work wherever the store does.
"""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterable
from pathlib import Path

_TAKEN = (errno.EACCES, errno.EAGAIN)


class Claims:
    """This process' claims. Use it in a ``with`` statement; one at a time for a store.

    Raises
    ------
    OSError
        The file cannot be written or locked.
    """

    def __init__(self, store: Path) -> None:
        self._file = store.with_name(f"{store.name}-claims").open("ab")

    def __enter__(self) -> Claims:
        """The claims themselves, none yet."""
        return self

    def __exit__(self, *error: object) -> None:
        """Give up all claims."""
        self._file.close()

    def take(self, keys: Iterable[str]) -> str | None:
        """Claim these trials. If another process has one, claim none and return its key."""
        taken: list[str] = []
        for key in keys:
            try:
                self._lock(key, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                self.release(taken)
                return key
            taken.append(key)
        return None

    def release(self, keys: Iterable[str]) -> None:
        """Give up claims on these trials."""
        for key in keys:
            self._lock(key, fcntl.LOCK_UN)

    def wait(self, key: str) -> None:
        """Return when no other process has a claim on this trial. Hold none meanwhile."""
        self._lock(key, fcntl.LOCK_EX)
        self.release([key])

    def _lock(self, key: str, operation: int) -> None:
        # 60 of the key's 256 bits: two trials at one place would only wait for each other.
        fcntl.lockf(self._file, operation, 1, int(key[:15], 16))
