"""Measurements on speech: pitch, level and tilt.

F0 is Harvest's: :mod:`aor_lib.audio.speech.prosody` changes F0 as DIO finds it, and a mistake of
the one is not hidden by the same mistake of the other.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d
from scipy.signal import welch

from aor_lib.audio.mixing import active_speech_level_dbfs
from aor_lib.audio.speech import pitch
from aor_lib.audio.speech.voice import SAMPLE_RATE, SpeechError

_BANDS_HZ = 500 * 2 ** (np.arange(12) / 3)
"""Centres of third-octave bands, 500 Hz to 6.3 kHz."""


@dataclass(frozen=True)
class SpeechMeasurement:
    """Pitch, level and tilt of speech.

    ``f0_mean_st`` and ``f0_range_st`` are in semitones: the mean re 100 Hz over voiced frames, and
    from their 5th to their 95th percentile. ``level_dbfs`` is the active speech level (ITU-T P.56).
    ``tilt_db_per_octave`` is the slope of the long-term spectrum in third-octave bands from 500 Hz,
    above F0, to 6.3 kHz, by least squares (white noise has a slope of +3).

    Only frames within 25 dB of the loudest count, and as voiced only those that both trackers call
    so: Harvest alone finds an F0 in much that has none.
    """

    duration_s: float
    f0_mean_st: float
    f0_range_st: float
    level_dbfs: float
    tilt_db_per_octave: float


def measure_speech(samples: npt.NDArray[np.float32]) -> SpeechMeasurement:
    """Measure speech without a background: float32, ``(n,)``, mono, at ``SAMPLE_RATE``.

    SpeechError if it is not one finite channel of at least 0.1 s, or nothing in it is voiced.
    """
    speech = pitch.checked(samples)
    level_db = _level_db(speech)
    loud = level_db > _floor_db(level_db)
    f0, other = pitch.harvest(speech)[: len(level_db)], pitch.dio(speech)[0][: len(level_db)]
    voiced = loud & (f0 > 0) & (other > 0)
    if not voiced.any():
        raise SpeechError("cannot be measured: nothing in it is voiced speech")
    heights_st = 12 * np.log2(f0[voiced] / 100)
    low_st, high_st = np.percentile(heights_st, [5, 95])
    duration_s = len(speech) / SAMPLE_RATE
    return SpeechMeasurement(
        duration_s=duration_s,
        f0_mean_st=float(heights_st.mean()),
        f0_range_st=float(high_st - low_st),
        level_dbfs=active_speech_level_dbfs(speech, SAMPLE_RATE),
        tilt_db_per_octave=_tilt(speech, loud),
    )


def _level_db(speech: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Level in dB of each frame, ``(frames,)``."""
    # Praat's window for a pitch of at least 50 Hz, 64 ms in all, is about this Gaussian.
    power = gaussian_filter1d(speech**2, 0.013 * SAMPLE_RATE)[:: round(pitch.FRAME_S * SAMPLE_RATE)]
    return np.asarray(10 * np.log10(power + 1e-12))


def _floor_db(level_db: npt.NDArray[np.float64]) -> float:
    return float(np.percentile(level_db, 99)) - 25


def _tilt(speech: npt.NDArray[np.float64], loud: npt.NDArray[np.bool_]) -> float:
    kept = np.repeat(loud, round(pitch.FRAME_S * SAMPLE_RATE))[: len(speech)]
    frequencies_hz, power = welch(speech * kept, SAMPLE_RATE, nperseg=1024)
    octaves = np.log2(frequencies_hz[1:, None] / _BANDS_HZ)
    bands_db = 10 * np.log10(power[1:] @ (np.abs(octaves) <= 1 / 6) + 1e-20)
    return float(np.polyfit(np.log2(_BANDS_HZ), bands_db, 1)[0])
