"""The line of a restaurant's kitchen."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, pulses, wander
from aor_lib.audio.scenes.foley import bell
from aor_lib.audio.scenes.impacts import CERAMIC, METAL, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials

_HOOD = [(50, -4.0), (160, 0.0), (600, -7.0), (2000, -20.0), (8000, -40.0)]
_SIZZLE = [(1000, -30.0), (3000, -6.0), (6500, 0.0), (11000, -6.0)]


def restaurant_kitchen(canvas: Canvas) -> None:
    """Sizzling pans under an extractor hood, plates and pans clattering, orders coming in."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(_sizzle(n, rate, rng), -17)
    canvas.add_bed(shaped_noise(n, rate, varied(_HOOD, rng), rng), -20)
    blades = oscillator(np.full(n, rng.uniform(170.0, 240.0)), rate, rolloff_partials(4, 1.3))
    canvas.add_bed(blades, -29)
    for onset in scattered(canvas.duration_s, 0.6, rng):
        canvas.add_event("plate", onset, _clatter(CERAMIC, (1400, 2600), 0.25, rate, rng), -4)
    for onset in scattered(canvas.duration_s, 0.9, rng):
        canvas.add_event("pan", onset, _clatter(METAL, (350, 900), 0.7, rate, rng), -2)
    for onset in scattered(canvas.duration_s, 2.5, rng):
        canvas.add_event("ticket printer", onset, _ticket_printer(rate, rng), -4)
    for onset in scattered(canvas.duration_s, 2.5, rng):
        canvas.add_event("order bell", onset, bell(rng.uniform(1900, 2400), 1.2, rate, rng), -4)
    canvas.reverberate(0.5, -8.0, 6000.0)


def _sizzle(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    heat = 1.0 + 0.5 * wander(n, rate, 1.5, rng)
    spit_size = round(0.012 * rate)
    spits = [
        band_noise(spit_size, rate, low_hz, 2 * low_hz, rng) * decay(spit_size, rate, 0.012)
        for low_hz in rng.uniform(1800.0, 4500.0, 3)
    ]
    hiss = shaped_noise(n, rate, varied(_SIZZLE, rng), rng)
    return heat * hiss + grains(140.0 * heat, rate, spits, rng)


def _clatter(
    ratios: tuple[float, ...],
    base_hz: tuple[float, float],
    t60_s: float,
    rate: int,
    rng: np.random.Generator,
) -> FloatArray:
    at, parts = 0.0, []
    for hit in range(rng.integers(1, 5)):
        body = struck(round(1.3 * t60_s * rate), rate, rng.uniform(*base_hz), ratios, t60_s, rng)
        parts.append((at, fade(body, rate, 0.0, 0.05) * rng.uniform(0.5, 1.0) * 0.85**hit))
        at += rng.uniform(0.03, 0.12)
    return overlay(parts, rate)


def _ticket_printer(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.5, 0.9) * rate)
    pins = pulses(np.full(n, rng.uniform(90.0, 140.0)), rate, 4.0, 0.0)
    needle = band_noise(n, rate, 1500.0, 4500.0, rng)
    tone = oscillator(np.full(n, rng.uniform(850.0, 1100.0)), rate, rolloff_partials(8, 1.0))
    lines = pulses(np.full(n, rng.uniform(6.0, 8.0)), rate, 1.5, 0.0)
    swept = breakpoints(n, [(0.0, 1.0), (0.9, 0.8), (1.0, 0.0)])
    return (needle * pins + 0.3 * tone) * (lines > 0.4) * swept
