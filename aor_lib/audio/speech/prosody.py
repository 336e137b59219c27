"""Express emotions by pitch, duration, level and spectral tilt of speech, and measure these.

WORLD (Morise, Yokomori & Ozawa, 2016, IEICE Trans. E99-D(7), 1877-1884) analyses and resynthesises
speech. Neutral speech is not resynthesised, so emotional speech also differs from it by artefacts
of the vocoder.

The directions of the :data:`TARGETS` follow these reviews. Their sizes are limited so that words
stay intelligible and voices human; F0 therefore rises by less than in rule-based synthesis.

- Juslin & Laukka, Psychol. Bull. 129(5):770-814, 2003 (cues; the range of F0 for fear).
- Murray & Arnott, J. Acoust. Soc. Am. 93(2):1097-1108, 1993 (order of F0 means, irregular fear).
- Banse & Scherer, J. Pers. Soc. Psychol. 70(3):614-636, 1996 (energy of anger and sadness).
- Schröder, Eurospeech, 561-564, 2001 (sizes).
- Burkhardt & Sendlmeier, ISCA Workshop on Speech and Emotion, 151-156, 2000 (sizes).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyworld
from scipy.ndimage import gaussian_filter1d, minimum_filter1d, uniform_filter1d
from scipy.signal import welch

from aor_lib.audio.mixing import active_speech_level_dbfs
from aor_lib.audio.speech.voice import SAMPLE_RATE, SpeechError

FloatArray = npt.NDArray[np.float64]
FRAME_S = 0.005
F0_LIMITS_HZ = (50.0, 700.0)
_BANDS_HZ = 500 * 2 ** (np.arange(12) / 3)  # centres of third-octave bands, to 6.3 kHz
_MIN_VOICED_S = 0.1
_TILT_LIMITS_HZ = (125.0, 8000.0)  # constant gain outside, so as not to boost rumble or hiss
_PEAK = 0.99


@dataclass(frozen=True)
class SpeechMeasurement:
    """Duration, pitch, level and tilt of speech.

    Pitch and tilt use only frames within 25 dB of the loudest. A frame is voiced if both Harvest
    and DIO find an F0: Harvest alone finds an F0 in many frames that have none.
    """

    speech_s: float
    f0_mean_st: float  # semitones above 100 Hz, over voiced frames
    f0_range_st: float  # from the 5th to the 95th percentile
    speech_dbfs: float  # active level (ITU-T P.56)
    tilt_db_per_octave: float  # of third-octave bands from 500 Hz to 6.3 kHz; white noise has +3


def measure_speech(samples: npt.NDArray[np.float32]) -> SpeechMeasurement:
    """Measure speech without a background: float32, ``(n,)``, mono, at ``SAMPLE_RATE``.

    F0 is estimated by Harvest rather than DIO, so that errors of :func:`express` show here.
    SpeechError if no frame is voiced.
    """
    speech = samples.astype(np.float64)
    # Approximates Praat's window for a pitch of at least 50 Hz, which is 64 ms long.
    power = gaussian_filter1d(speech**2, 0.013 * SAMPLE_RATE)[:: round(FRAME_S * SAMPLE_RATE)]
    level_db = 10 * np.log10(power + 1e-12)
    loud = level_db > np.percentile(level_db, 99) - 25
    # Harvest is about twenty times slower than DIO (Morise, 2017, Interspeech, 2321-2325).
    f0, _ = pyworld.harvest(
        speech, SAMPLE_RATE, f0_floor=60.0, f0_ceil=F0_LIMITS_HZ[1], frame_period=1000 * FRAME_S
    )
    f0, other = f0[: len(loud)], dio(speech)[0][: len(loud)]
    voiced = loud & (f0 > 0) & (other > 0)
    if not voiced.any():
        raise SpeechError("cannot be measured: it contains no voiced speech")
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

    DIO and StoneMask (Morise et al., 2009, AES 35th Conference) run twice, first to find the
    speaker's range (after De Looze & Hirst, 2008, Speech Prosody, 135-138), to avoid octave errors.
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


@dataclass(frozen=True)
class Prosody:
    """Changes from a speaker's neutral speech to emotional speech."""

    f0_mean_st: float  # added, in semitones
    f0_range: float  # multiplies the distance of F0 from its mean, in semitones
    duration: float  # multiplies the duration
    level_db: float  # added to the active speech level
    tilt_db_per_octave: float  # added to the slope of the spectrum
    jitter: float = 0.0  # standard deviation of a random factor of F0, drawn for each 5 ms frame


TARGETS: dict[str, Prosody] = {
    "neutral": Prosody(0.0, 1.0, 1.0, 0.0, 0.0),
    "angry": Prosody(4.0, 1.5, 0.87, 6.0, 2.0),
    "fearful": Prosody(5.0, 0.7, 0.8, -2.0, -1.0, jitter=0.015),
    "sad": Prosody(-2.0, 0.6, 1.25, -5.0, -2.0),
    "happy": Prosody(3.0, 1.7, 0.9, 3.0, 0.5),
}
"""Prosody of each emotion of :class:`aor_lib.config.records.Stimulus`, by name."""


def express(samples: npt.NDArray[np.float32], emotion: str) -> npt.NDArray[np.float32]:
    """Give neutral speech the prosody of an emotion; ``neutral`` returns the input unchanged.

    ``samples`` are float32, ``(n,)``, mono, at 24 kHz; ``emotion`` is a key of :data:`TARGETS`.
    SpeechError if ``samples`` have less than 0.1 s of voiced speech.
    """
    if emotion == "neutral":
        return samples
    target = TARGETS[emotion]
    neutral = samples.astype(np.float64)
    f0, times_s = dio(neutral)
    if (f0 > 0).sum() * FRAME_S < _MIN_VOICED_S:
        raise SpeechError(f"emotion {emotion!r} needs {_MIN_VOICED_S} s of voiced speech")
    envelope = pyworld.cheaptrick(neutral, f0, times_s, SAMPLE_RATE)
    tilted_hz = np.linspace(0, SAMPLE_RATE / 2, envelope.shape[1]).clip(*_TILT_LIMITS_HZ)
    envelope *= 10 ** (target.tilt_db_per_octave * np.log2(tilted_hz / 1000) / 10)
    noisiness = pyworld.d4c(neutral, f0, times_s, SAMPLE_RATE)
    changed = _intonation(f0, target)
    frame_ms = 1000 * FRAME_S * target.duration  # a longer frame period slows speech down
    expressed = pyworld.synthesize(changed, envelope, noisiness, SAMPLE_RATE, frame_ms)
    expressed = expressed[: round(len(neutral) * target.duration)]
    level_dbfs = active_speech_level_dbfs(neutral, SAMPLE_RATE) + target.level_db
    # Limiting lowers the level, so the gain is applied again; this converges within a few rounds.
    for _ in range(5):
        missing_db = level_dbfs - active_speech_level_dbfs(expressed, SAMPLE_RATE)
        expressed = _limited(expressed * 10 ** (missing_db / 20))
    return np.asarray(expressed, np.float32)


def _intonation(f0: FloatArray, target: Prosody) -> FloatArray:
    voiced = f0 > 0
    heights_st = 12 * np.log2(f0[voiced])
    mean_st = heights_st.mean()
    heights_st = mean_st + target.f0_mean_st + target.f0_range * (heights_st - mean_st)
    # A fixed seed: the same speech and emotion give the same sound, as comparisons are paired.
    irregular = np.random.default_rng(0).normal(1.0, target.jitter, voiced.sum())
    changed = np.zeros_like(f0)
    changed[voiced] = np.clip(2 ** (heights_st / 12) * irregular, *F0_LIMITS_HZ)
    return changed


def _limited(samples: FloatArray) -> FloatArray:
    gain = _PEAK / np.maximum(np.abs(samples), _PEAK)
    window = 2 * round(0.005 * SAMPLE_RATE) + 1
    # As the mean uses the window of the minimum, it never exceeds the gain that a peak needs.
    return np.asarray(samples * uniform_filter1d(minimum_filter1d(gain, window), window))
