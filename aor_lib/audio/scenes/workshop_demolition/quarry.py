"""A quarry at blasting time."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, pulses, wander
from aor_lib.audio.scenes.impacts import METAL, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials

_BELT = [(40, -3.0), (110, 0.0), (350, -5.0), (1200, -18.0), (5000, -38.0)]
_BLAST = [(25, 0.0), (120, 0.0), (500, -8.0), (2000, -22.0), (8000, -44.0)]
_ROCK = (1.0, 1.71, 2.36, 3.3)


def quarry(canvas: Canvas) -> None:
    """A hand siren's howl, blasts that echo, rocks that roll down, and the belt that runs on."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(_belt(n, rate, rng), -19)
    for onset in steady(canvas.duration_s, rng.uniform(0.45, 0.6), rng, jitter=0.03):
        canvas.add_event("conveyor roller", onset, _roller(rate, rng), -8)
    top_hz = rng.uniform(400.0, 520.0)
    for onset in steady(canvas.duration_s, rng.uniform(2.0, 2.4), rng, jitter=0.05):
        canvas.add_event("warning siren", onset, _siren(top_hz, rate, rng), -7)
    for onset in scattered(canvas.duration_s, 2.6, rng):
        canvas.add_event("blast", onset, _blast(rate, rng), 3)
    for onset in scattered(canvas.duration_s, 1.1, rng):
        canvas.add_event("rolling rocks", onset, _rocks(rate, rng), -1)
    canvas.reverberate(1.4, -9.0, 1800.0)


def _belt(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    """Rubber that rumbles over its rollers, with gravel that patters on it."""
    rollers = pulses(np.full(n, rng.uniform(7.0, 10.0)), rate, 1.5, rng.uniform())
    rumble = shaped_noise(n, rate, varied(_BELT, rng), rng) * (0.4 + rollers)
    size = round(0.02 * rate)
    pebbles = [
        band_noise(size, rate, low_hz, 2 * low_hz, rng) * decay(size, rate, 0.02)
        for low_hz in rng.uniform(1200.0, 3200.0, 4)
    ]
    patter = grains(90.0 * (1.0 + 0.5 * wander(n, rate, 2.0, rng)), rate, pebbles, rng)
    return rumble + 0.5 * patter


def _roller(rate: int, rng: np.random.Generator) -> FloatArray:
    """A dry bearing's squeal, once a turn, and the joint of the belt that clacks over it."""
    n = round(0.16 * rate)
    pitch = rng.uniform(1150.0, 1400.0) * breakpoints(n, [(0.0, 0.9), (0.5, 1.1), (1.0, 1.0)])
    squeal = fade(oscillator(pitch, rate, (1.0, 0.5, 0.3)), rate, 0.04, 0.08)
    clack = struck(round(0.12 * rate), rate, rng.uniform(280.0, 340.0), METAL, 0.1, rng)
    return overlay([(0.0, 0.5 * squeal), (0.1, clack)], rate)


def _siren(top_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(1.8, 2.2) * rate)
    # A heavy rotor is cranked up and runs down by itself.
    turning = breakpoints(n, [(0.0, 0.45), (0.2, 0.75), (0.5, 1.0), (0.75, 0.92), (1.0, 0.5)])
    howl = oscillator(top_hz * turning, rate, rolloff_partials(12, 0.9) * np.tile((1.0, 0.5), 6))
    return fade(howl * turning, rate, 0.25, 0.3)


def _blast(rate: int, rng: np.random.Generator) -> FloatArray:
    """A row of charges that go off in a ripple, and the opposite face that throws it back."""
    n = round(1.8 * rate)
    charge = burst(n, rate, varied(_BLAST, rng), 1.1, rng) + thump(n, rate, 75.0, 30.0, 0.8)
    ripple = [(index * rng.uniform(0.025, 0.05), 0.8**index * charge) for index in range(4)]
    echo = burst(n, rate, [(40, 0.0), (200, -3.0), (900, -24.0)], 1.3, rng)
    return overlay([*ripple, (rng.uniform(0.35, 0.6), 0.5 * echo)], rate)


def _rocks(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.9, 1.5) * rate)
    knocks = [
        struck(round(0.09 * rate), rate, base_hz, _ROCK, 0.07, rng)
        for base_hz in rng.uniform(350.0, 1100.0, 5)
    ]
    tumbling = breakpoints(n, [(0.0, 0.3), (0.25, 1.0), (1.0, 0.1)])
    ground = band_noise(n, rate, 70.0, 220.0, rng)
    return fade(grains(28.0 * tumbling, rate, knocks, rng) + 0.3 * tumbling * ground, rate, 0, 0.2)
