"""Shapes over time: decays, fades, breakpoints, pulses and slow random wander."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aor_lib.audio.scenes.model import FloatArray


def decay(n_samples: int, sample_rate: int, t60_s: float) -> FloatArray:
    """Exponential decay from 1, by 60 dB in `t60_s` seconds.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    rate = 3.0 * np.log(10.0) / (t60_s * sample_rate)
    envelope: FloatArray = np.exp(-rate * np.arange(n_samples))
    return envelope


def fade(sound: FloatArray, sample_rate: int, attack_s: float, release_s: float) -> FloatArray:
    """Copy of a sound with raised-cosine ends, so that it starts and stops without a click.

    Parameters
    ----------
    sound : ndarray of float64, shape (samples,)
        The sound.
    sample_rate : int
        In Hz.
    attack_s, release_s : float
        Lengths of the ramps in seconds, each cut to the length of the sound.

    Returns
    -------
    ndarray of float64, shape (samples,)
    """
    shaped = sound.copy()
    attack = min(sound.size, round(attack_s * sample_rate))
    release = min(sound.size, round(release_s * sample_rate))
    if attack:
        shaped[:attack] *= _rise(attack)
    if release:
        shaped[-release:] *= _rise(release)[::-1]
    return shaped


def breakpoints(n_samples: int, points: Sequence[tuple[float, float]]) -> FloatArray:
    """Piecewise linear curve.

    Parameters
    ----------
    n_samples : int
        Length of the curve.
    points : sequence of (float, float)
        Positions as fractions of the length, ascending within [0, 1], and the values there.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    positions, values = zip(*points, strict=True)
    curve: FloatArray = np.interp(np.arange(n_samples) / n_samples, positions, values)
    return curve


def pulses(rate_hz: FloatArray, sample_rate: int, sharpness: float, phase: float) -> FloatArray:
    """Repeating decay, for sounds that are struck many times a second.

    Parameters
    ----------
    rate_hz : ndarray of float64, shape (samples,)
        Pulses a second, over time.
    sample_rate : int
        In Hz.
    sharpness : float
        Each pulse falls from 1 to exp(-sharpness) before the next.
    phase : float
        Where in a pulse to start, in [0, 1).

    Returns
    -------
    ndarray of float64, shape (samples,)
    """
    position = np.cumsum(rate_hz) / sample_rate + phase
    repeated: FloatArray = np.exp(-sharpness * (position - np.floor(position)))
    return repeated


def wander(
    n_samples: int, sample_rate: int, rate_hz: float, rng: np.random.Generator
) -> FloatArray:
    """Slow random curve in [-1, 1], linear between uniform draws.

    Parameters
    ----------
    n_samples : int
        Length of the curve.
    sample_rate : int
        In Hz.
    rate_hz : float
        Draws a second.
    rng : numpy.random.Generator
        Draws the curve.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    n_knots = int(n_samples / sample_rate * rate_hz) + 3
    position = np.arange(n_samples) * (rate_hz / sample_rate) + rng.uniform()
    knots = rng.uniform(-1.0, 1.0, n_knots)
    curve: FloatArray = np.interp(position, np.arange(n_knots), knots)
    return curve


def _rise(n_samples: int) -> FloatArray:
    ramp: FloatArray = 0.5 - 0.5 * np.cos(np.pi * (np.arange(n_samples) + 0.5) / n_samples)
    return ramp
