"""Noise with a spectrum or a grain: hums of air, water, sizzle, applause, debris."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import fft

from aor_lib.audio.scenes.model import FloatArray

Curve = Sequence[tuple[float, float]]
"""A spectrum: ascending (frequency in Hz, level in dB), held beyond both ends."""

_MIN_SIZE = 1024


def shaped_noise(
    n_samples: int, sample_rate: int, curve: Curve, rng: np.random.Generator
) -> FloatArray:
    """Stationary Gaussian noise with a given spectrum.

    Parameters
    ----------
    n_samples : int
        Length of the noise.
    sample_rate : int
        In Hz; what `curve` says above half of it is ignored.
    curve : sequence of (float, float)
        Ascending frequencies in Hz and spectral levels in dB, interpolated over log frequency.
    rng : numpy.random.Generator
        Draws the noise.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        With an expected RMS of 1.
    """
    # Drawn in the frequency domain: one inverse transform, and no filter's start-up. A floor on
    # the size keeps the spectrum's resolution for sounds of a few milliseconds.
    size = fft.next_fast_len(max(n_samples, _MIN_SIZE), real=True)
    n_bins = size // 2 + 1
    frequencies, levels_db = (np.array(axis) for axis in zip(*curve, strict=True))
    bins = np.log2(np.maximum(np.arange(n_bins) * (sample_rate / size), 1e-3))
    amplitude = np.exp(np.interp(bins, np.log2(frequencies), levels_db * (np.log(10.0) / 20.0)))
    amplitude[0] = 0.0
    amplitude *= size / np.sqrt(4.0 * np.sum(np.square(amplitude)))
    spectrum = rng.standard_normal(2 * n_bins).view(np.complex128) * amplitude
    noise: FloatArray = fft.irfft(spectrum, size)[:n_samples]
    return noise


def band_noise(
    n_samples: int,
    sample_rate: int,
    low_hz: float,
    high_hz: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Gaussian noise between two frequencies, falling by 24 dB an octave outside them.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        With an expected RMS of 1.
    """
    curve = [(low_hz / 8, -72.0), (low_hz, 0.0), (high_hz, 0.0), (high_hz * 8, -72.0)]
    return shaped_noise(n_samples, sample_rate, curve, rng)


def varied(curve: Curve, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Copy of a spectrum, shifted by up to a sixth of an octave and 2.5 dB at each point."""
    shift = 2.0 ** rng.uniform(-1 / 6, 1 / 6)
    return [(hz * shift, level_db + rng.uniform(-2.5, 2.5)) for hz, level_db in curve]


def grains(
    density_hz: FloatArray,
    sample_rate: int,
    kernels: Sequence[FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    """Cloud of many small sounds at random times, of random and mostly low levels.

    Parameters
    ----------
    density_hz : ndarray of float64, shape (samples,)
        Expected grains a second, over time.
    sample_rate : int
        In Hz.
    kernels : sequence of ndarray of float64, shape (kernel samples,)
        The small sounds; each grain is one of these.
    rng : numpy.random.Generator
        Draws times, levels and kernels.

    Returns
    -------
    ndarray of float64, shape (samples,)
    """
    expected = np.cumsum(density_hz) / sample_rate
    cloud = np.zeros(density_hz.size)
    for kernel in kernels:
        n_grains = rng.poisson(expected[-1] / len(kernels))
        positions = np.searchsorted(expected, rng.uniform(0.0, expected[-1], n_grains))
        levels = rng.lognormal(0.0, 0.8, n_grains) * rng.choice((-1.0, 1.0), n_grains)
        for position, level in zip(positions, levels, strict=True):
            grain = kernel[: cloud.size - position]
            cloud[position : position + grain.size] += level * grain
    return cloud
