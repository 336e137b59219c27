"""A clip in memory, to play, save or pass to a model."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from aor_lib.storage.atomic_write import atomic_write

if TYPE_CHECKING:
    from IPython.display import Audio

    from aor_lib.audio.mixing import Samples


@dataclass(frozen=True, eq=False)
class Clip:
    """A mono clip: float32 samples ``(samples,)`` within ±1, and their sample rate in Hz.

    Examples
    --------
    >>> import numpy as np
    >>> silence = Clip(np.zeros(12_000, np.float32), 24_000)
    >>> len(silence.samples) / silence.sample_rate
    0.5
    """

    samples: Samples
    sample_rate: int

    def play(self) -> Audio:
        """Player for a notebook, at the clip's own level."""
        from IPython.display import Audio

        return Audio(self.samples, rate=self.sample_rate, normalize=False)

    def encoded(self, kind: str = "WAV", subtype: str = "FLOAT") -> bytes:
        """Encode the clip in a libsndfile format and subtype, such as FLAC and PCM_16."""
        file = io.BytesIO()
        soundfile.write(file, self.samples, self.sample_rate, format=kind, subtype=subtype)
        return file.getvalue()

    def save(self, path: str | Path) -> None:
        """Write a 16-bit .flac or .wav file; ValueError for any other suffix."""
        if Path(path).suffix.lower() not in (".flac", ".wav"):
            raise ValueError(f"{path}: a clip is saved as .flac or .wav; change the name's ending")
        # Integers, so that a clip that was read from a 16-bit file is saved unchanged.
        integers = np.clip(np.rint(self.samples * 2.0**15), -(2**15), 2**15 - 1).astype(np.int16)
        file, kind = io.BytesIO(), Path(path).suffix[1:].upper()
        soundfile.write(file, integers, self.sample_rate, format=kind, subtype="PCM_16")
        with atomic_write(Path(path)) as stream:
            stream.write(file.getvalue())
