"""Measurements on speech: pitch, level and tilt.

F0 is Harvest's, not DIO's, so that a mistake of :mod:`aor_lib.audio.speech.prosody` shows here.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyworld
from scipy.ndimage import gaussian_filter1d
from scipy.signal import welch

from aor_lib.audio.mixing import active_speech_level_dbfs
from aor_lib.audio.speech.voice import SAMPLE_RATE, SpeechError

FloatArray = npt.NDArray[np.float64]
FRAME_S = 0.005
F0_LIMITS_HZ = (50.0, 700.0)
_BANDS_HZ = 500 * 2 ** (np.arange(12) / 3)  # centres of third-octave bands, to 6.3 kHz


@dataclass(frozen=True)
class SpeechMeasurement:
    """Pitch, level and tilt of speech.

    Only frames within 25 dB of the loudest count, and as voiced only those that both trackers call
    so: Harvest alone finds an F0 in much that has none.
    """

    speech_s: float
    f0_mean_st: float  # semitones above 100 Hz, over voiced frames
    f0_range_st: float  # from the 5th to the 95th percentile
    speech_dbfs: float  # active level (ITU-T P.56)
    tilt_db_per_octave: float  # of third-octave bands from 500 Hz to 6.3 kHz; white noise has +3


def measure_speech(samples: npt.NDArray[np.float32]) -> SpeechMeasurement:
    """Measure speech without a background: float32, ``(n,)``, mono, at ``SAMPLE_RATE``.

    SpeechError if nothing in it is voiced.
    """
    speech = samples.astype(np.float64)
    # Praat's window for a pitch of at least 50 Hz, 64 ms in all, is about this Gaussian.
    power = gaussian_filter1d(speech**2, 0.013 * SAMPLE_RATE)[:: round(FRAME_S * SAMPLE_RATE)]
    level_db = 10 * np.log10(power + 1e-12)
    loud = level_db > np.percentile(level_db, 99) - 25
    # Some twenty times slower than DIO (Morise, 2017, Interspeech, 2321-2325).
    f0, _ = pyworld.harvest(
        speech, SAMPLE_RATE, f0_floor=60.0, f0_ceil=F0_LIMITS_HZ[1], frame_period=1000 * FRAME_S
    )
    f0, other = f0[: len(loud)], dio(speech)[0][: len(loud)]
    voiced = loud & (f0 > 0) & (other > 0)
    if not voiced.any():
        raise SpeechError("cannot be measured: nothing in it is voiced speech")
    heights_st = 12 * np.log2(f0[voiced] / 100)
    low_st, high_st = np.percentile(heights_st, [5, 95])
    return SpeechMeasurement(
        speech_s=len(speech) / SAMPLE_RATE,
        f0_mean_st=float(heights_st.mean()),
        f0_range_st=float(high_st - low_st),
        speech_dbfs=active_speech_level_dbfs(speech, SAMPLE_RATE),
        tilt_db_per_octave=_tilt(speech, loud),
    )


def dio(speech: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F0 in Hz (0 where unvoiced) and times in seconds of each frame, both ``(frames,)``.

    DIO and StoneMask (Morise et al., 2009, AES 35th Conference), twice: first for the speaker's own
    range (after De Looze & Hirst, 2008, Speech Prosody, 135-138), which keeps octave errors out.
    """
    f0, times_s = _dio(speech, 60.0, 600.0)
    if not f0.any():
        return f0, times_s
    low_hz, high_hz = np.quantile(f0[f0 > 0], [0.25, 0.75])
    floor_hz, ceiling_hz = F0_LIMITS_HZ
    return _dio(speech, max(0.75 * low_hz, floor_hz), min(2.25 * high_hz, ceiling_hz))


def _dio(speech: FloatArray, floor_hz: float, ceiling_hz: float) -> tuple[FloatArray, FloatArray]:
    coarse, times_s = pyworld.dio(
        speech, SAMPLE_RATE, f0_floor=floor_hz, f0_ceil=ceiling_hz, frame_period=1000 * FRAME_S
    )
    return pyworld.stonemask(speech, coarse, times_s, SAMPLE_RATE), times_s


def _tilt(speech: FloatArray, loud: npt.NDArray[np.bool_]) -> float:
    kept = np.repeat(loud, round(FRAME_S * SAMPLE_RATE))[: len(speech)]
    frequencies_hz, power = welch(speech * kept, SAMPLE_RATE, nperseg=1024)
    octaves = np.log2(frequencies_hz[1:, None] / _BANDS_HZ)
    bands_db = 10 * np.log10(power[1:] @ (np.abs(octaves) <= 1 / 6) + 1e-20)
    return float(np.polyfit(np.log2(_BANDS_HZ), bands_db, 1)[0])
