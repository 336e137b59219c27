"""Objects that several scenes share: steps, bells, engines, motors, bubbles and suction."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.envelopes import breakpoints, decay, pulses, wander
from aor_lib.audio.scenes.impacts import BELL, METAL, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import Curve, grains, shaped_noise
from aor_lib.audio.scenes.tones import glide, oscillator, rolloff_partials


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
    scuff: FloatArray = np.concatenate([np.zeros(scuff_at), sole[:-scuff_at]])
    return heel + 0.25 * sole + 0.15 * scuff


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


def blade_clash(ring_hz: float, sample_rate: int, rng: np.random.Generator) -> FloatArray:
    """Two steel blades that hit each other, and often slide along each other before they part.

    Parameters
    ----------
    ring_hz : float
        Nominal frequency of the blades' ring, in Hz; the second blade rings some per cent off it.
    sample_rate : int
        In Hz.
    rng : numpy.random.Generator
        Draws the blades' modes and the slide.

    Returns
    -------
    ndarray of float64, shape (samples,)
        0.55 s long.
    """
    n_samples = round(0.55 * sample_rate)
    first = struck(n_samples, sample_rate, ring_hz, METAL, 0.5, rng)
    second = struck(n_samples, sample_rate, ring_hz * rng.uniform(1.06, 1.25), METAL, 0.35, rng)
    contact = burst(n_samples, sample_rate, [(1000, -12.0), (4000, 0.0), (9000, -3.0)], 0.03, rng)
    scrape_end = rng.uniform(0.2, 0.6)
    scrape = shaped_noise(n_samples, sample_rate, [(2500, -24.0), (5000, 0.0), (9000, -2.0)], rng)
    scrape *= breakpoints(n_samples, [(0.0, 1.0), (scrape_end, 0.3), (scrape_end + 0.1, 0.0)])
    return first + 0.7 * second + contact + rng.uniform(0.0, 0.35) * scrape


def bubbles(
    density_hz: FloatArray,
    sample_rate: int,
    low_hz: float,
    high_hz: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Air rising through a liquid: many short tones, each of which rises while its bubble closes.

    Parameters
    ----------
    density_hz : ndarray of float64, shape (samples,)
        Expected bubbles a second, over time.
    sample_rate : int
        In Hz.
    low_hz, high_hz : float
        Range of the bubbles' pitches, in Hz: the smaller the bubble, the higher.
    rng : numpy.random.Generator
        Draws sizes and times.

    Returns
    -------
    ndarray of float64, shape (samples,)
    """
    n = round(0.06 * sample_rate)
    kernels = [
        oscillator(glide(n, start_hz, 1.5 * start_hz), sample_rate, (1.0,))
        * decay(n, sample_rate, 0.07)
        for start_hz in np.geomspace(low_hz, high_hz, 6) * rng.uniform(0.9, 1.1, 6)
    ]
    return grains(density_hz, sample_rate, kernels, rng)


def suction(
    n_samples: int,
    sample_rate: int,
    hiss: Curve,
    rng: np.random.Generator,
    *,
    slurp_gain: float,
) -> FloatArray:
    """Tube that draws in air and, in gulps, liquid.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    hiss : sequence of (float, float)
        Spectrum of the air (see :func:`textures.shaped_noise`).
    rng : numpy.random.Generator
        Draws air and gulps.
    slurp_gain : float
        Amplitude of the liquid relative to the air.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    # Liquid chokes the air stream: where the one swells, the other fades.
    gulp = np.maximum(0.0, wander(n_samples, sample_rate, 9.0, rng))
    flutter = 1.0 + 0.6 * wander(n_samples, sample_rate, 70.0, rng)
    air = shaped_noise(n_samples, sample_rate, hiss, rng) * (1.0 - 0.7 * gulp)
    liquid = bubbles(20.0 + 220.0 * gulp, sample_rate, 350.0, 1600.0, rng)
    return air + slurp_gain * gulp * flutter * liquid
