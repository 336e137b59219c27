"""A butcher's counter with the cold room behind it."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, pulses, wander
from aor_lib.audio.scenes.impacts import METAL, WOOD, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import oscillator

_COLD_AIR = [(60, 0.0), (250, -6.0), (1000, -16.0), (4000, -34.0)]
_VALVES = [(100, -10.0), (350, 0.0), (1200, -8.0), (4000, -28.0)]
_BONE = [(400, -10.0), (1100, 0.0), (2600, -2.0), (6000, -14.0)]
_PAPER = [(800, -16.0), (2500, -3.0), (6000, 0.0), (11000, -6.0)]


def butcher_counter(canvas: Canvas) -> None:
    """Single heavy blows of a cleaver, strokes of a bone saw, torn paper, a compressor."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(_compressor(n, rate, rng), -22)
    canvas.add_bed(shaped_noise(n, rate, varied(_COLD_AIR, rng), rng), -30)
    block_hz, steel_hz = rng.uniform(120.0, 155.0), rng.uniform(3100.0, 3900.0)
    for onset in scattered(canvas.duration_s, 0.8, rng):
        canvas.add_event("cleaver", onset, _cleaver(block_hz, steel_hz, rate, rng), 3)
    for onset in scattered(canvas.duration_s, 2.4, rng):
        canvas.add_event("bone saw", onset, _bone_saw(rate, rng), 0)
    for onset in scattered(canvas.duration_s, 1.9, rng):
        canvas.add_event("paper tear", onset, _tear(rate, rng), -2)
    canvas.reverberate(0.45, -9.0, 5500.0)


def _compressor(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    """Mains hum and a piston at just under half of it, whose valves clatter."""
    mains_hz = rng.choice((50.0, 60.0))
    hum = oscillator(np.full(n, mains_hz), rate, [0.4, 1.0, 0.15, 0.6, 0.1, 0.4, 0.05, 0.25])
    strokes_hz = 0.24 * mains_hz * (1.0 + 0.01 * wander(n, rate, 1.0, rng))
    valves = shaped_noise(n, rate, varied(_VALVES, rng), rng) * pulses(strokes_hz, rate, 4.0, 0.0)
    return hum + 1.3 * valves


def _cleaver(block_hz: float, steel_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.35 * rate)
    block = struck(n, rate, block_hz * rng.normal(1.0, 0.03), WOOD, 0.2, rng)
    steel = struck(n, rate, steel_hz, METAL, 0.3, rng)
    crunch = burst(n, rate, [(300, -6.0), (1200, 0.0), (5000, -8.0)], 0.05, rng)
    return thump(n, rate, 170.0, 62.0, 0.2) + block + crunch + 0.15 * steel


def _bone_saw(rate: int, rng: np.random.Generator) -> FloatArray:
    """Strokes to and fro; the teeth pass fastest, and so sound highest, in mid-stroke."""
    stroke_s = rng.uniform(0.2, 0.27)
    n = round(stroke_s * rate)
    arc = np.sin(np.pi * (np.arange(n) + 0.5) / n)
    parts = []
    for stroke in range(rng.integers(4, 7)):
        push = 1.0 if stroke % 2 else 0.8
        teeth = pulses(push * (60.0 + 190.0 * arc), rate, 3.5, rng.uniform())
        rasp = shaped_noise(n, rate, varied(_BONE, rng), rng) * teeth
        blade = oscillator(push * (500.0 + 700.0 * arc), rate, (1.0, 0.4, 0.3))
        parts.append((stroke * stroke_s, push * arc * (rasp + 0.25 * blade)))
    return overlay(parts, rate)


def _tear(rate: int, rng: np.random.Generator) -> FloatArray:
    """Wrapping paper pulled off the roll: fibres that part ever faster, then a rustle."""
    n = round(rng.uniform(0.35, 0.6) * rate)
    size = round(0.004 * rate)
    fibres = [
        band_noise(size, rate, low_hz, 3 * low_hz, rng) * decay(size, rate, 0.004)
        for low_hz in rng.uniform(1500.0, 3500.0, 4)
    ]
    parting = grains(breakpoints(n, [(0.0, 300.0), (1.0, 1100.0)]), rate, fibres, rng)
    hiss = shaped_noise(n, rate, varied(_PAPER, rng), rng)
    ripped = fade(parting / np.std(parting) + 0.5 * hiss, rate, 0.03, 0.01)
    m = round(0.4 * rate)
    rustle = shaped_noise(m, rate, varied(_PAPER, rng), rng)
    rustle *= np.maximum(0.0, wander(m, rate, 25.0, rng)) * breakpoints(m, [(0, 1), (1, 0)])
    return overlay([(0.0, ripped), (n / rate, 0.7 * rustle)], rate)
