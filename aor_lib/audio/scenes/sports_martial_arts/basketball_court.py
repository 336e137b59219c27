"""A game of basketball in a hall."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import fade, wander
from aor_lib.audio.scenes.impacts import METAL, burst, modal, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import shaped_noise, varied
from aor_lib.audio.scenes.timing import bounces, scattered, steady
from aor_lib.audio.scenes.tones import glide, oscillator, rolloff_partials
from aor_lib.audio.scenes.voices import murmur

_HALL = [(80, -6.0), (300, 0.0), (900, -4.0), (2500, -16.0), (8000, -40.0)]
_LEATHER_ON_BOARDS = [(200, -4.0), (600, 0.0), (1800, -8.0), (5000, -26.0)]
_BACKBOARD = [(80, -6.0), (200, 0.0), (500, -6.0), (1500, -24.0)]
_AIR_IN_BALL_HZ = 343.0 / (2 * np.pi * 0.12) * np.array([2.08, 3.34, 4.49])
"""Modes of the air in a ball of 12 cm radius: zeros of the derivative of j1, j2 and j3."""


def basketball_court(canvas: Canvas) -> None:
    """Two balls being dribbled, squeaking soles, shots on a rattling rim, the buzzer."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_HALL, rng), rng), -34)
    canvas.add_bed(murmur(n, rate, 3, rng), -34)
    for level_db, period_s in ((4, rng.uniform(0.38, 0.52)), (-4, rng.uniform(0.55, 0.8))):
        for onset in steady(canvas.duration_s, period_s, rng, jitter=0.1):
            canvas.add_event("bouncing ball", onset, _bounce(rate, rng), level_db)
    for onset in scattered(canvas.duration_s, 0.8, rng):
        for _ in range(rng.integers(1, 4)):
            canvas.add_event("squeaking shoe", onset, _squeak(rate, rng), -4)
            onset += rng.uniform(0.09, 0.22)
    for onset in scattered(canvas.duration_s, 1.7, rng):
        canvas.add_event("rattling rim", onset, _rim(rate, rng), -4)
    horn_hz = rng.uniform(230.0, 310.0)
    for onset in scattered(canvas.duration_s, 3.0, rng):
        canvas.add_event("buzzer", onset, _buzzer(horn_hz, rate, rng), -5)
    canvas.reverberate(1.8, -4.0, 4500.0)


def _bounce(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.25 * rate)
    boards = thump(n, rate, 180.0 * rng.normal(1.0, 0.05), 78.0, rng.uniform(0.12, 0.18))
    ping = modal(n, rate, _AIR_IN_BALL_HZ * rng.normal(1.0, 0.01), [0.16, 0.1, 0.08], [1, 0.6, 0.4])
    slap = burst(n, rate, varied(_LEATHER_ON_BOARDS, rng), 0.06, rng)
    return boards + 0.45 * ping + 0.3 * slap


def _squeak(rate: int, rng: np.random.Generator) -> FloatArray:
    """Rubber that sticks and slips on varnish some two thousand times a second."""
    n = round(rng.uniform(0.05, 0.14) * rate)
    start_hz = rng.uniform(1500.0, 2800.0)
    pitch = glide(n, start_hz, start_hz * rng.uniform(0.85, 1.3))
    pitch *= 1.0 + 0.03 * wander(n, rate, 90.0, rng)
    return fade(oscillator(pitch, rate, (1.0, 0.6, 0.35, 0.2)), rate, 0.008, 0.03)


def _rim(rate: int, rng: np.random.Generator) -> FloatArray:
    """The ball on the backboard and then, ever faster, on the hoop, which rattles on its hinge."""
    base_hz = rng.uniform(190.0, 260.0)
    board = burst(round(0.35 * rate), rate, varied(_BACKBOARD, rng), 0.3, rng)
    parts = [(0.0, 0.5 * board)]
    n_hits = int(rng.integers(3, 7))
    for offset_s, gain in bounces(rng.uniform(0.16, 0.24), 0.75, n_hits):
        at = offset_s + rng.uniform(0.04, 0.06)
        parts.append((at, gain * struck(round(0.5 * rate), rate, base_hz, METAL, 0.5, rng)))
        for rattle_s in rng.uniform(0.0, 0.1, 3):
            hinge = struck(round(0.1 * rate), rate, 5.3 * base_hz, METAL, 0.08, rng)
            parts.append((at + rattle_s, 0.3 * gain * hinge))
    return overlay(parts, rate)


def _buzzer(horn_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.7, 1.1) * rate)
    horns = [
        oscillator(np.full(n, horn_hz * ratio), rate, rolloff_partials(24, 0.5), rng.uniform())
        for ratio in (1.0, 1.26)
    ]
    return fade(horns[0] + 0.8 * horns[1], rate, 0.02, 0.06)
