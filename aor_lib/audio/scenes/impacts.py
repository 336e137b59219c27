"""Things that are struck: modal resonators, bursts of noise and low thumps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aor_lib.audio.scenes.envelopes import decay
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import Curve, shaped_noise

WOOD = (1.0, 1.58, 2.24, 2.92, 3.79, 5.11)
METAL = (1.0, 1.47, 2.09, 2.76, 3.54, 4.31, 5.63, 7.2)
CERAMIC = (1.0, 1.73, 2.33, 3.46, 4.57)
BELL = (0.5, 1.0, 1.19, 1.5, 2.0, 2.74, 3.76, 5.4)
"""Ratios of a struck body's modes to its nominal frequency."""

_BLOCK = 512


def modal(
    n_samples: int,
    sample_rate: int,
    frequencies_hz: Sequence[float] | FloatArray,
    t60s_s: Sequence[float] | FloatArray,
    gains: Sequence[float] | FloatArray,
) -> FloatArray:
    """Sum of exponentially decaying sines.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    frequencies_hz, t60s_s, gains : sequence of float, each of length (modes,)
        Frequency in Hz, time to fall by 60 dB in seconds (infinite for a steady tone) and
        amplitude of each mode. Modes near or above the Nyquist frequency are left out.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    frequencies = np.asarray(frequencies_hz, dtype=np.float64)
    kept = frequencies < 0.46 * sample_rate
    poles = (
        -3.0 * np.log(10.0) / np.asarray(t60s_s, dtype=np.float64)[kept]
        + 2j * np.pi * frequencies[kept]
    ) / sample_rate
    # exp(p (a B + b)) = exp(p a B) exp(p b): exponentials for the starts of blocks and within
    # one block, and a matrix product for the rest. Calling exp and sin for every sample of
    # every mode takes some thirty times as long.
    starts = np.arange(0, n_samples, _BLOCK)
    at_start = np.exp(np.multiply.outer(starts, poles)) * np.asarray(gains)[kept]
    within = np.exp(np.multiply.outer(poles, np.arange(_BLOCK)))
    # The imaginary part alone, by einsum rather than BLAS: the products are so small that BLAS
    # spends most of the time on waking its threads.
    left = np.concatenate([at_start.real, at_start.imag], axis=1)
    right = np.concatenate([within.imag, within.real])
    sound: FloatArray = np.einsum("am,mb->ab", left, right).reshape(-1)[:n_samples]
    return sound


def struck(
    n_samples: int,
    sample_rate: int,
    base_hz: float,
    ratios: Sequence[float],
    t60_s: float,
    rng: np.random.Generator,
) -> FloatArray:
    """One hit on a body such as `WOOD` or `METAL`, in a random place.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    base_hz : float
        Nominal frequency in Hz.
    ratios : sequence of float
        Its modes' frequencies, relative to the nominal one; each is detuned by about 1 %.
    t60_s : float
        Decay of the nominal mode in seconds; higher modes decay faster.
    rng : numpy.random.Generator
        Draws detuning and the modes' levels.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    ratio = np.asarray(ratios) * rng.normal(1.0, 0.01, len(ratios))
    gains = rng.uniform(0.3, 1.0, len(ratios)) * ratio**-0.4
    return modal(n_samples, sample_rate, base_hz * ratio, t60_s * ratio**-0.7, gains)


def burst(
    n_samples: int, sample_rate: int, curve: Curve, t60_s: float, rng: np.random.Generator
) -> FloatArray:
    """Decaying noise with the spectrum `curve` (see :func:`textures.shaped_noise`).

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        Starting at an expected RMS of 1.
    """
    return shaped_noise(n_samples, sample_rate, curve, rng) * decay(n_samples, sample_rate, t60_s)


def thump(
    n_samples: int, sample_rate: int, start_hz: float, stop_hz: float, t60_s: float
) -> FloatArray:
    """Decaying sine that drops in pitch: a drum skin, a heavy bag, a muzzle's blast.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    start_hz, stop_hz : float
        Frequency at the hit and where it settles, in Hz.
    t60_s : float
        Time to fall by 60 dB, in seconds.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    fall = decay(n_samples, sample_rate, 0.6 * t60_s)
    phase = np.cumsum(stop_hz + (start_hz - stop_hz) * fall) / sample_rate
    tone: FloatArray = np.sin(2 * np.pi * phase)
    return tone * decay(n_samples, sample_rate, t60_s)
