"""The outline of a sound: small enough to be drawn beside thousands of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

BINS = 96
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def outline(path: Path) -> str:
    """Peak levels of :data:`BINS` equal parts of a sound file.

    Returns
    -------
    One digit of base 36 a part, in proportion to the loudest part, which is ``z``.

    Raises
    ------
    FileNotFoundError
        It does not exist; the message says what to do.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; run 'aor data' to make it again")
    samples, _ = soundfile.read(path, dtype="float32", always_2d=True)
    peaks = np.abs(samples).max(axis=1)
    starts = np.linspace(0, len(peaks), BINS, endpoint=False, dtype=np.int64)
    levels = np.maximum.reduceat(peaks, starts)
    loudest = levels.max()
    steps = np.rint(levels / loudest * 35) if loudest else np.zeros(BINS)
    return "".join(_DIGITS[int(step)] for step in steps)
