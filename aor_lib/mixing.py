"""Speech and background to one clip at a stated SNR and loudness.

Levels: active speech level by ITU-T P.56 method B; programme loudness and true peak by
ITU-R BS.1770-4.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyloudnorm
from scipy.ndimage import maximum_filter1d
from scipy.signal import lfilter, resample_poly

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Mix:
    """A finished clip (float32, ``(samples,)``, mono) and what was measured on it."""

    samples: Samples
    loudness_lufs: float
    peak_dbfs: float


def mix(
    speech: Samples,
    background: Samples | None,
    *,
    sample_rate: int,
    snr_db: float,
    lead_in_s: float,
    tail_s: float,
    loudness_lufs: float,
    true_peak_dbfs: float,
) -> Mix:
    """Put speech over a background and normalise the sum.

    Parameters
    ----------
    speech
        float32, ``(n,)``, mono.
    background
        float32, exactly :func:`clip_length` samples; ``None`` for speech in silence.
    snr_db
        Active speech level minus the background's RMS level over the whole clip.
    lead_in_s, tail_s
        Background alone, before and after the speech.
    loudness_lufs
        Integrated loudness of the result; lower where the true peak would pass its limit.
    true_peak_dbfs
        Limit for the true peak.

    Raises
    ------
    ValueError
        Speech or background is silent, not finite, or of the wrong length.
    """
    _check("speech", speech)
    length = clip_length(len(speech), sample_rate, lead_in_s, tail_s)
    clip = np.zeros(length)
    start = round(lead_in_s * sample_rate)
    clip[start : start + len(speech)] = speech
    if background is not None:
        _check("background", background)
        if len(background) != length:
            raise ValueError(f"background has {len(background)} samples, must have {length}")
        wanted_db = active_speech_level_dbfs(speech, sample_rate) - snr_db
        clip += background * 10 ** ((wanted_db - rms_dbfs(background)) / 20)
    clip *= 10 ** ((loudness_lufs - _loudness(clip, sample_rate)) / 20)
    over_db = true_peak(clip) - true_peak_dbfs
    if over_db > 0:
        clip *= 10 ** (-over_db / 20)
    return Mix(clip.astype(np.float32), _loudness(clip, sample_rate), true_peak(clip))


def clip_length(n_speech: int, sample_rate: int, lead_in_s: float, tail_s: float) -> int:
    """Samples of a clip with ``n_speech`` samples of speech."""
    return round(lead_in_s * sample_rate) + n_speech + round(tail_s * sample_rate)


def active_speech_level_dbfs(speech: npt.NDArray[np.floating], sample_rate: int) -> float:
    """Level of the speech while someone speaks, by ITU-T P.56 (12/2011), method B.

    The envelope is smoothed twice (30 ms); a sample counts as active for a threshold when the
    envelope reached it within the last 200 ms; the level is taken where it lies 15.9 dB above the
    threshold. Full scale 1.0 is 0 dBFS.
    """
    samples = np.asarray(speech, dtype=np.float64)
    decay = np.exp(-1 / (0.03 * sample_rate))
    envelope = np.abs(samples)
    for _ in range(2):
        envelope = lfilter([1 - decay], [1, -decay], envelope)
    hangover = round(0.2 * sample_rate)
    recent = maximum_filter1d(envelope, hangover, origin=(hangover - 1) // 2, mode="constant")
    thresholds_db = 20 * np.log10(2.0) * np.arange(-15, 1)
    active = np.array([(recent >= 10 ** (db / 20)).sum() for db in thresholds_db])
    levels_db = 10 * np.log10((samples**2).sum() / np.maximum(active, 1))
    above_db = levels_db - thresholds_db
    # above_db falls as the threshold rises; thresholds that nothing reaches do not count.
    reached = active > 0
    above_db, levels_db = above_db[reached], levels_db[reached]
    if len(above_db) == 0:
        return rms_dbfs(samples)
    return float(np.interp(-15.9, -above_db, levels_db))


def rms_dbfs(samples: npt.NDArray[np.floating]) -> float:
    """RMS level; full scale 1.0 is 0 dBFS."""
    return float(10 * np.log10(np.mean(np.square(samples, dtype=np.float64)) + 1e-20))


def true_peak(samples: npt.NDArray[np.floating]) -> float:
    """True peak in dBFS, on four times the sampling rate (ITU-R BS.1770-4, annex 2)."""
    return float(20 * np.log10(np.abs(resample_poly(samples, 4, 1)).max() + 1e-10))


def _loudness(samples: npt.NDArray[np.floating], sample_rate: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(pyloudnorm.Meter(sample_rate).integrated_loudness(samples))


def _check(what: str, samples: Samples) -> None:
    if samples.ndim != 1 or len(samples) == 0:
        raise ValueError(f"{what} must be one channel with at least one sample")
    if not np.isfinite(samples).all():
        raise ValueError(f"{what} has samples that are not finite")
    if not samples.any():
        raise ValueError(f"{what} is silent")
