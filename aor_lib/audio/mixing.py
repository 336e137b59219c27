"""Mix speech and a background into one clip at a given SNR and loudness."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyloudnorm
from scipy.ndimage import maximum_filter1d
from scipy.signal import lfilter, resample_poly

from aor_lib.audio.speech.voice import SAMPLE_RATE
from aor_lib.config.profile import Mixing

Samples = npt.NDArray[np.float32]

_OVERSAMPLING = 4


@dataclass(frozen=True)
class Mix:
    """A finished clip (float32, ``(samples,)``, mono) with its measured loudness and true peak."""

    samples: Samples
    loudness_lufs: float
    peak_dbfs: float


def mix(speech: Samples, background: Samples | None, settings: Mixing) -> Mix:
    """Mix speech with a background at the SNR and loudness of ``settings``.

    The SNR is the active speech level minus the RMS level of the background over the whole clip.
    Loudness is reduced if the true peak would exceed its limit. ``speech`` is float32, ``(n,)``,
    mono, at 24 kHz; ``background``, if not None, is float32 and has :func:`clip_length` samples.
    """
    length, loudness_lufs = clip_length(len(speech), settings), settings.loudness_lufs
    clip = np.zeros(length)
    start = round(settings.lead_in_s * SAMPLE_RATE)
    # Close to the final level, so that the absolute loudness gate passes the same blocks.
    speech_gain_db = loudness_lufs - active_speech_level_dbfs(speech, SAMPLE_RATE)
    np.multiply(speech, 10 ** (speech_gain_db / 20), out=clip[start : start + len(speech)])
    if background is not None:
        clip += background * 10 ** ((loudness_lufs - settings.snr_db - rms_dbfs(background)) / 20)
    # Measured once: a gain shifts loudness and peak by the same number of dB.
    measured_lufs, measured_dbfs = loudness(clip, SAMPLE_RATE), true_peak(clip)
    gain_db = min(loudness_lufs - measured_lufs, settings.true_peak_dbfs - measured_dbfs)
    clip *= 10 ** (gain_db / 20)
    return Mix(clip.astype(np.float32), measured_lufs + gain_db, measured_dbfs + gain_db)


def clip_length(n_speech: int, settings: Mixing) -> int:
    """Number of samples at 24 kHz in a clip with ``n_speech`` samples of speech."""
    lead_in, tail = round(settings.lead_in_s * SAMPLE_RATE), round(settings.tail_s * SAMPLE_RATE)
    return lead_in + n_speech + tail


def active_speech_level_dbfs(speech: npt.NDArray[np.floating], sample_rate: int) -> float:
    """Active speech level in dBFS, by ITU-T P.56 (12/2011), method B.

    Full scale 1.0 is 0 dBFS. The envelope is sampled at 1 kHz (P.56 asks for 694 Hz).
    """
    samples = np.asarray(speech, dtype=np.float64)
    step = max(1, round(sample_rate / 1000))
    rate_hz = sample_rate / step
    envelope = np.add.reduceat(np.abs(samples), np.arange(0, len(samples), step)) / step
    decay = np.exp(-1 / (0.03 * rate_hz))
    for _ in range(2):
        envelope = lfilter([1 - decay], [1, -decay], envelope)
    hangover = round(0.2 * rate_hz)
    recent = maximum_filter1d(envelope, hangover, origin=(hangover - 1) // 2, mode="constant")
    thresholds_db = 20 * np.log10(2.0) * np.arange(-15, 1)
    active = step * np.array([(recent >= 10 ** (db / 20)).sum() for db in thresholds_db])
    levels_db = 10 * np.log10((samples**2).sum() / np.maximum(active, 1))
    reached = active > 0  # the level's margin over the threshold falls as the threshold rises
    if not reached.any():
        return rms_dbfs(samples)
    return float(np.interp(-15.9, (thresholds_db - levels_db)[reached], levels_db[reached]))


def rms_dbfs(samples: npt.NDArray[np.floating]) -> float:
    """RMS level in dBFS; full scale 1.0 is 0 dBFS."""
    return float(10 * np.log10(np.mean(np.square(samples, dtype=np.float64)) + 1e-20))


def true_peak(samples: npt.NDArray[np.floating]) -> float:
    """True peak in dBFS, at four times the sample rate (ITU-R BS.1770-4, annex 2)."""
    upsampled = resample_poly(samples.astype(np.float64), _OVERSAMPLING, 1)
    upsampled[::_OVERSAMPLING] = samples
    return float(20 * np.log10(np.abs(upsampled).max() + 1e-10))


def loudness(samples: npt.NDArray[np.floating], sample_rate: int) -> float:
    """Integrated loudness of a mono signal in LUFS, gated twice (ITU-R BS.1770-4).

    A clip shorter than a block (400 ms) is one block. ``-inf`` if every block is gated out.
    """
    # Only the K-weighting is pyloudnorm's: its loop over blocks takes longer than all the rest.
    shelf, high_pass = pyloudnorm.Meter(sample_rate)._filters.values()
    both = np.convolve(shelf.b, high_pass.b), np.convolve(shelf.a, high_pass.a)
    weighted = lfilter(*both, np.asarray(samples, dtype=np.float64))
    hop = round(0.1 * sample_rate)
    n_hops = len(weighted) // hop
    if n_hops < 4:
        blocks = np.mean(np.square(weighted), keepdims=True)
    else:
        hops = np.square(weighted[: n_hops * hop]).reshape(n_hops, hop).mean(axis=1)
        blocks = np.lib.stride_tricks.sliding_window_view(hops, 4).mean(axis=1)
    loud = blocks[blocks >= 10 ** ((-70.0 + 0.691) / 10)]
    if len(loud):
        loud = loud[loud > loud.mean() / 10]
    return float(-0.691 + 10 * np.log10(loud.mean())) if len(loud) else float("-inf")
