"""A joiner's shop."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import breakpoints, pulses
from aor_lib.audio.scenes.foley import motor
from aor_lib.audio.scenes.impacts import METAL, WOOD, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import steady
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials

_DUST_EXTRACTOR = [(80, -4.0), (250, 0.0), (1200, -12.0), (4000, -26.0)]
_SAWDUST = [(700, -16.0), (2500, -2.0), (5000, 0.0), (10000, -10.0)]


def woodworking_shop(canvas: Canvas) -> None:
    """Passes of a circular saw, drilling and hammering in turn, while another hand sands."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_DUST_EXTRACTOR, rng), rng), -30)
    extractor_hz = np.full(n, rng.uniform(210.0, 290.0))
    canvas.add_bed(oscillator(extractor_hz, rate, rolloff_partials(8, 1.1)), -33)
    stroke_s = rng.uniform(0.32, 0.48)
    for onset in steady(canvas.duration_s, stroke_s, rng, jitter=0.08):
        canvas.add_event("sanding", onset, _sanding_stroke(0.85 * stroke_s, rate, rng), -11)
    saw_hz, drill_hz = rng.uniform(1050.0, 1500.0), rng.uniform(260.0, 420.0)
    tools = ("saw", "hammer", "drill")
    turn, onset = int(rng.integers(3)), 0.0
    while onset < canvas.duration_s:
        tool = tools[turn % 3]
        if tool == "saw":
            seconds = rng.uniform(1.3, 2.0)
            canvas.add_event("circular saw", onset, _saw(seconds, saw_hz, rate, rng), -4)
        elif tool == "drill":
            seconds = rng.uniform(0.8, 1.3)
            canvas.add_event("drill", onset, _drill(seconds, drill_hz, rate, rng), -5)
        else:
            seconds = _hammer(canvas, onset)
        turn += 1
        onset += seconds + rng.uniform(0.05, 0.2)
    canvas.reverberate(0.5, -9.0, 5000.0)


def _sanding_stroke(seconds: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(seconds * rate)
    arc = breakpoints(n, [(0.0, 0.0), (0.3, 1.0), (0.7, 0.8), (1.0, 0.0)])
    return band_noise(n, rate, 2200.0, rng.uniform(5000.0, 6500.0), rng) * arc


def _saw(seconds: float, whine_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(seconds * rate)
    whine, load = motor(n, rate, whine_hz, rng, sag=0.2, brightness=1.2)
    teeth = shaped_noise(n, rate, varied(_SAWDUST, rng), rng)
    return whine * (1.0 - 0.4 * load) + 0.9 * teeth * load


def _drill(seconds: float, whine_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(seconds * rate)
    whine, load = motor(n, rate, whine_hz, rng, spin_up=0.1, sag=0.3, brightness=1.6)
    flutes = pulses(np.full(n, rng.uniform(28.0, 40.0)), rate, 2.0, 0.0)
    return whine + 0.4 * band_noise(n, rate, 500.0, 2500.0, rng) * flutes * load


def _hammer(canvas: Canvas, onset: float) -> float:
    """Drive one nail, whose ring rises in pitch as it goes in; return how long that took."""
    rate, rng = canvas.sample_rate, canvas.rng
    pace_s, nail_hz = rng.uniform(0.24, 0.36), rng.uniform(1700.0, 2500.0)
    n, n_blows = canvas.length(0.25), int(rng.integers(4, 7))
    for blow in range(n_blows):
        wood = struck(n, rate, rng.uniform(230.0, 280.0), WOOD, 0.14, rng)
        nail = struck(n, rate, nail_hz * 1.06**blow, METAL, 0.16, rng)
        at = onset + blow * pace_s * rng.normal(1.0, 0.02)
        canvas.add_event("hammer", at, wood + 0.6 * nail, 1)
    return n_blows * pace_s
