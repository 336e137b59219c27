"""Objects that several scenes share: steps, bells, engines and motors."""

from __future__ import annotations

import numpy as np

from aor_lib.soundscape.envelopes import breakpoints, pulses, wander
from aor_lib.soundscape.impacts import BELL, burst, struck, thump
from aor_lib.soundscape.model import FloatArray
from aor_lib.soundscape.textures import Curve, shaped_noise
from aor_lib.soundscape.tones import oscillator, rolloff_partials


def footstep(body_hz: float, grit: Curve, sample_rate: int, rng: np.random.Generator) -> FloatArray:
    """Heel and sole on a floor.

    Parameters
    ----------
    body_hz : float
        What the floor answers with, in Hz: low for hollow boards, high for concrete.
    grit : sequence of (float, float)
        Spectrum of the sole's scuff (see :func:`textures.shaped_noise`).
    sample_rate : int
        In Hz.
    rng : numpy.random.Generator
        Draws the step.

    Returns
    -------
    ndarray of float64, shape (round(0.2 * sample_rate),)
    """
    n_samples = round(0.2 * sample_rate)
    body_hz *= rng.normal(1.0, 0.06)
    heel = thump(n_samples, sample_rate, 1.8 * body_hz, body_hz, rng.uniform(0.09, 0.14))
    sole = burst(n_samples, sample_rate, grit, rng.uniform(0.08, 0.16), rng)
    scuff_at = round(rng.uniform(0.02, 0.05) * sample_rate)
    return heel + 0.25 * sole + 0.15 * np.concatenate([np.zeros(scuff_at), sole[:-scuff_at]])


def bell(nominal_hz: float, t60_s: float, sample_rate: int, rng: np.random.Generator) -> FloatArray:
    """One stroke on a bell, as long as it rings (at most 2.5 s).

    Returns
    -------
    ndarray of float64, shape (samples,)
    """
    n_samples = round(min(t60_s, 2.5) * sample_rate)
    return struck(n_samples, sample_rate, nominal_hz, BELL, t60_s, rng)


def engine(
    n_samples: int,
    sample_rate: int,
    firing_hz: float,
    clatter: Curve,
    rng: np.random.Generator,
    *,
    clatter_gain: float,
) -> FloatArray:
    """Combustion engine that runs: firing pulses and, with each, a clatter of noise.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    firing_hz : float
        Cylinder firings a second, which drift by some per cent.
    clatter : sequence of (float, float)
        Spectrum of the mechanical noise (see :func:`textures.shaped_noise`).
    rng : numpy.random.Generator
        Draws drift and noise.
    clatter_gain : float
        Amplitude of the noise relative to the firing.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    speed = firing_hz * (1.0 + 0.04 * wander(n_samples, sample_rate, 1.0, rng))
    phase = rng.uniform()
    firing = oscillator(speed, sample_rate, rolloff_partials(24, 0.9), phase)
    noise = shaped_noise(n_samples, sample_rate, clatter, rng)
    return firing + clatter_gain * noise * pulses(speed, sample_rate, 2.5, phase)


def motor(
    n_samples: int,
    sample_rate: int,
    whine_hz: float,
    rng: np.random.Generator,
    *,
    spin_up: float = 0.15,
    sag: float = 0.15,
    brightness: float = 0.7,
) -> tuple[FloatArray, FloatArray]:
    """Electric tool that spins up, labours under load and spins down.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    whine_hz : float
        Frequency of the whine at full speed, in Hz.
    rng : numpy.random.Generator
        Draws the load.
    spin_up : float, default 0.15
        Fraction of the length that spinning up takes, and spinning down; below 0.3.
    sag : float, default 0.15
        By which fraction the load lowers the speed.
    brightness : float, default 0.7
        How slowly the harmonics fall: amplitudes go with ``order ** -(1 / brightness)``.

    Returns
    -------
    sound : ndarray of float64, shape (n_samples,)
        The whine.
    load : ndarray of float64, shape (n_samples,)
        How hard the tool works, in [0, 1], to shape the noise of the work.
    """
    load = breakpoints(
        n_samples, [(0, 0), (spin_up, 0), (spin_up + 0.1, 1), (1 - spin_up - 0.1, 1), (1, 0)]
    )
    running = breakpoints(n_samples, [(0, 0), (spin_up, 1), (1 - spin_up, 1), (1, 0)])
    strain = 1.0 + 0.2 * wander(n_samples, sample_rate, 8.0, rng)
    speed = whine_hz * (0.2 + 0.8 * np.sqrt(running)) * (1.0 - sag * load * strain)
    whine = oscillator(speed, sample_rate, rolloff_partials(16, 1.0 / brightness), rng.uniform())
    return whine * running, load
