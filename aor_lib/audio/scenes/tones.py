"""Pitched sounds: a band-limited wavetable oscillator, glides and pulse waves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aor_lib.audio.scenes.envelopes import fade
from aor_lib.audio.scenes.model import FloatArray

_TABLE_SIZE = 4096  # a power of two, so that a bit mask wraps the position


def oscillator(
    frequency_hz: FloatArray,
    sample_rate: int,
    partials: Sequence[float] | FloatArray,
    phase: float = 0.0,
) -> FloatArray:
    """Harmonic tone with a frequency that may change over time.

    Parameters
    ----------
    frequency_hz : ndarray of float64, shape (samples,)
        Fundamental frequency over time, in Hz.
    sample_rate : int
        In Hz.
    partials : sequence of float
        Amplitudes of the harmonics from the first; those that would alias are left out.
    phase : float, default 0
        Where in its cycle the tone starts, in [0, 1).

    Returns
    -------
    ndarray of float64, shape (samples,)
    """
    # Looking samples up in one stored cycle costs the same for any number of partials.
    cycles = np.cumsum(frequency_hz) / sample_rate + phase
    position = (cycles * _TABLE_SIZE).astype(np.int64) & (_TABLE_SIZE - 1)
    n_partials = int(0.48 * sample_rate / float(np.max(frequency_hz)))
    table = cycle(partials[:n_partials], _TABLE_SIZE)
    tone: FloatArray = table[position]
    return tone


def cycle(partials: Sequence[float] | FloatArray, n_samples: int) -> FloatArray:
    """One cycle of a harmonic wave: the sum of sines with the given amplitudes.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    spectrum = np.zeros(n_samples // 2 + 1, dtype=np.complex128)
    spectrum[1 : len(partials) + 1] = np.asarray(partials) * (-0.5j * n_samples)
    return np.fft.irfft(spectrum, n_samples)


def glide(n_samples: int, start_hz: float, stop_hz: float) -> FloatArray:
    """Frequency that moves between two values at a constant number of octaves a second.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        In Hz.
    """
    return np.geomspace(start_hz, stop_hz, n_samples)


def pulse_partials(duty: float, n_partials: int) -> FloatArray:
    """Amplitudes of a pulse wave's harmonics, the sound of early game consoles.

    Parameters
    ----------
    duty : float
        Fraction of the cycle in which the wave is high, in (0, 1); 0.5 is a square wave.
    n_partials : int
        How many harmonics.

    Returns
    -------
    ndarray of float64, shape (n_partials,)
    """
    order = np.arange(1, n_partials + 1)
    amplitudes: FloatArray = np.sin(np.pi * order * duty) / order
    return amplitudes


def rolloff_partials(n_partials: int, exponent: float) -> FloatArray:
    """Amplitudes that fall with a power of the harmonic's order; exponent 1 is a sawtooth.

    Returns
    -------
    ndarray of float64, shape (n_partials,)
    """
    return np.arange(1, n_partials + 1, dtype=np.float64) ** -exponent


def beep(
    frequency_hz: float,
    duration_s: float,
    sample_rate: int,
    partials: Sequence[float] | FloatArray = (1.0, 0.15, 0.2),
) -> FloatArray:
    """Steady electronic beep with short ramps.

    Returns
    -------
    ndarray of float64, shape (round(duration_s * sample_rate),)
    """
    frequency = np.full(round(duration_s * sample_rate), frequency_hz)
    return fade(oscillator(frequency, sample_rate, partials), sample_rate, 0.004, 0.008)
