"""A bakery before it opens."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, fade, wander
from aor_lib.audio.scenes.impacts import METAL, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import beep, oscillator, rolloff_partials

_OVEN_FAN = [(60, -3.0), (180, 0.0), (700, -9.0), (2500, -22.0), (8000, -42.0)]
_DOUGH = [(80, -3.0), (250, 0.0), (900, -8.0), (3000, -24.0)]
_FLOUR = [(150, -6.0), (400, 0.0), (1500, -8.0), (5000, -22.0)]
_SHEET_METAL = [(500, -12.0), (1800, 0.0), (4500, -4.0), (9000, -16.0)]


def bakery(canvas: Canvas) -> None:
    """A planetary mixer that kneads, dough thumped on a table, trays into the oven, its beeps."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(_mixer(n, rate, rng), -13)
    canvas.add_bed(shaped_noise(n, rate, varied(_OVEN_FAN, rng), rng), -26)
    for onset in scattered(canvas.duration_s, 1.3, rng):
        pace_s = rng.uniform(0.32, 0.45)
        for slap in range(rng.integers(2, 4)):
            canvas.add_event("dough thump", onset + slap * pace_s, _dough(rate, rng), -2)
    for onset in scattered(canvas.duration_s, 1.4, rng):
        canvas.add_event("tray", onset, _tray(rate, rng), -4)
    oven_hz = rng.uniform(1250.0, 1600.0)
    for onset in scattered(canvas.duration_s, 2.0, rng):
        pip = beep(oven_hz, 0.28, rate, (1.0, 0.0, 0.3, 0.0, 0.15))
        canvas.add_event("oven beep", onset, overlay([(i * 0.5, pip) for i in range(3)], rate), -9)
    canvas.reverberate(0.4, -11.0, 4500.0)


def _mixer(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    """The hook goes round: each turn loads the motor, bends its whine and slaps the dough."""
    turn = np.arange(n) * (rng.uniform(1.6, 2.2) / rate) + rng.uniform()
    load = 0.5 + 0.5 * np.sin(2 * np.pi * turn)
    gears_hz = rng.uniform(400.0, 480.0) * (1.0 - 0.09 * load)
    motor = oscillator(gears_hz, rate, (1.0, 0.3, 0.5, 0.1, 0.2))
    motor += 0.6 * oscillator(3.37 * gears_hz, rate, rolloff_partials(6, 1.0))
    slop = shaped_noise(n, rate, varied(_DOUGH, rng), rng) * load**3
    squelches = [
        burst(round(0.06 * rate), rate, [(hz / 2, -6.0), (hz, 0.0), (hz * 3, -18.0)], 0.05, rng)
        for hz in rng.uniform(300.0, 900.0, 3)
    ]
    wet = grains(25.0 * load**2, rate, squelches, rng)
    sound: FloatArray = motor * (0.6 + 0.4 * load) + 1.1 * slop + 1.2 * wet
    return sound * (1.0 + 0.1 * wander(n, rate, 4.0, rng))


def _dough(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.3 * rate)
    body_hz = rng.uniform(65.0, 85.0)
    slap = burst(n, rate, varied(_FLOUR, rng), rng.uniform(0.09, 0.13), rng)
    return thump(n, rate, 2.2 * body_hz, body_hz, 0.28) + 0.8 * slap


def _tray(rate: int, rng: np.random.Generator) -> FloatArray:
    """A sheet slides along its rails, faster and faster, and clanks against the stop."""
    n = round(rng.uniform(0.4, 0.7) * rate)
    sheet_hz = rng.uniform(420.0, 620.0)
    scrape = shaped_noise(n, rate, varied(_SHEET_METAL, rng), rng)
    scrape *= 1.0 + 0.6 * wander(n, rate, 60.0, rng)
    rails = [struck(round(0.08 * rate), rate, sheet_hz * k, METAL, 0.1, rng) for k in (1.0, 1.7)]
    chatter = grains(np.full(n, 45.0), rate, rails, rng)
    slide = (0.5 * scrape + 0.4 * chatter) * breakpoints(n, [(0.0, 0.1), (0.85, 1.0), (1.0, 0.4)])
    clank = struck(round(0.5 * rate), rate, sheet_hz, METAL, 0.45, rng)
    return overlay([(0.0, 0.5 * slide), (n / rate, fade(clank, rate, 0.0, 0.1))], rate)
