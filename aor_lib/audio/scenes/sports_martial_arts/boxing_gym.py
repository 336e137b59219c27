"""Training in a boxing gym."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, fade
from aor_lib.audio.scenes.foley import bell
from aor_lib.audio.scenes.impacts import burst, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.voices import murmur

_LEATHER = [(150, -6.0), (500, 0.0), (1500, -4.0), (5000, -24.0)]
_GYM_AIR = [(60, 0.0), (300, -9.0), (1500, -24.0), (6000, -45.0)]


def boxing_gym(canvas: Canvas) -> None:
    """Punches on a heavy bag in combinations, skipping ropes, the round's bell, a crowd's hum."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_GYM_AIR, rng), rng), -32)
    canvas.add_bed(murmur(n, rate, 3, rng), -29)
    for onset in scattered(canvas.duration_s, 0.95, rng):
        gap_s = rng.uniform(0.16, 0.26)
        for punch in range(rng.integers(2, 5)):
            at = onset + punch * gap_s * rng.normal(1.0, 0.06)
            canvas.add_event("bag punch", at, _punch(rate, rng), 1)
            if rng.uniform() < 0.5:
                canvas.add_event("breath", at - 0.03, _breath(rate, rng), -13)
    # The rope swishes past shortly before it taps the floor.
    skip_s = 1.0 / rng.uniform(2.2, 3.2)
    for onset in steady(canvas.duration_s, skip_s, rng):
        canvas.add_event("skipping rope", onset, _rope(skip_s, rate, rng), -8)
    for onset in scattered(canvas.duration_s, 3.8, rng):
        stroke = bell(rng.uniform(750.0, 950.0), 1.8, rate, rng)
        strokes = [(index * 0.32, stroke) for index in range(rng.integers(2, 4))]
        canvas.add_event("ring bell", onset, overlay(strokes, rate), -5)
    canvas.reverberate(0.9, -6.0, 3500.0)


def _punch(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.25 * rate)
    power = rng.uniform(0.6, 1.0)
    body = thump(n, rate, 190.0 * rng.normal(1.0, 0.08), 70.0, 0.18)
    slap = burst(n, rate, varied(_LEATHER, rng), rng.uniform(0.07, 0.11), rng)
    return power * (body + 0.5 * slap)


def _breath(rate: int, rng: np.random.Generator) -> FloatArray:
    hiss = band_noise(round(0.14 * rate), rate, 2500.0, 5500.0, rng)
    return fade(hiss, rate, 0.02, 0.1)


def _rope(skip_s: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.45 * skip_s * rate)
    swish = band_noise(n, rate, 1200.0, 4000.0, rng) * breakpoints(n, [(0, 0), (0.8, 1), (1, 0)])
    tap = burst(round(0.06 * rate), rate, [(400, -8.0), (1800, 0.0), (6000, -12.0)], 0.035, rng)
    return overlay([(0.0, 0.12 * swish), (n / rate, tap)], rate)
