"""An indoor shooting range."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import fade, pulses
from aor_lib.audio.scenes.foley import motor
from aor_lib.audio.scenes.impacts import METAL, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import bounces, scattered
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials

_VENTILATION = [(40, 0.0), (120, 0.0), (400, -8.0), (1500, -18.0), (6000, -40.0)]
_MUZZLE = [(80, -3.0), (350, 0.0), (1200, 0.0), (4000, -5.0), (9000, -14.0)]
_FAR_WALL = [(60, 0.0), (400, 0.0), (1500, -9.0), (5000, -30.0)]
_BRASS = (1.0, 1.34, 1.83, 2.41)


def shooting_range(canvas: Canvas) -> None:
    """Strings of pistol shots that echo, cases that tinkle on concrete, a target trolley."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_VENTILATION, rng), rng), -24)
    fan = oscillator(np.full(n, rng.uniform(55.0, 80.0)), rate, rolloff_partials(6, 1.0))
    canvas.add_bed(fan, -32)
    echo_s = rng.uniform(0.13, 0.19)
    onset = rng.uniform(0.0, 0.3)
    while onset < canvas.duration_s:
        for _ in range(rng.integers(2, 6)):
            canvas.add_event("pistol shot", onset, _shot(echo_s, rate, rng), 4)
            canvas.add_event("cartridge case", onset + 0.4, _case(rate, rng), -7)
            onset += rng.uniform(0.28, 0.55)
        onset += rng.uniform(0.3, 0.6)
    for onset in scattered(canvas.duration_s, 1.9, rng):
        canvas.add_event("target trolley", onset, _trolley(rate, rng), -9)
    canvas.reverberate(1.3, -7.0, 3500.0)


def _shot(echo_s: float, rate: int, rng: np.random.Generator) -> FloatArray:
    """Muzzle blast, and its echo that runs to and fro between the bullet trap and the back."""
    n = round(0.3 * rate)
    blast = burst(n, rate, varied(_MUZZLE, rng), 0.1, rng) + thump(n, rate, 240.0, 75.0, 0.14)
    parts = [(0.0, blast)]
    for order in range(1, 4):
        wall = burst(n, rate, varied(_FAR_WALL, rng), 0.15 + 0.08 * order, rng)
        parts.append((order * echo_s, 0.4 * 0.55 ** (order - 1) * wall))
    return overlay(parts, rate)


def _case(rate: int, rng: np.random.Generator) -> FloatArray:
    base_hz, n = rng.uniform(3200.0, 4400.0), round(0.18 * rate)
    hits = bounces(rng.uniform(0.11, 0.17), rng.uniform(0.66, 0.78), int(rng.integers(4, 8)))
    return overlay(
        [(offset_s, gain * struck(n, rate, base_hz, _BRASS, 0.2, rng)) for offset_s, gain in hits],
        rate,
    )


def _trolley(rate: int, rng: np.random.Generator) -> FloatArray:
    """Electric carrier that runs along its rail and hits the stop."""
    seconds = rng.uniform(0.9, 1.5)
    n = round(seconds * rate)
    whine, running = motor(n, rate, rng.uniform(420.0, 560.0), rng, sag=0.05, brightness=0.9)
    rollers = pulses(np.full(n, rng.uniform(18.0, 26.0)), rate, 4.0, rng.uniform())
    rail = band_noise(n, rate, 1400.0, 3200.0, rng) * rollers * running
    stop = struck(round(0.3 * rate), rate, rng.uniform(320.0, 480.0), METAL, 0.25, rng)
    return overlay([(0.0, fade(0.5 * whine + 0.5 * rail, rate, 0.02, 0.02)), (seconds, stop)], rate)
