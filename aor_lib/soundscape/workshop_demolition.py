"""Workshop and demolition: a joiner's shop, and a building being torn down."""

from __future__ import annotations

import numpy as np

from aor_lib.soundscape.canvas import Canvas, overlay
from aor_lib.soundscape.envelopes import breakpoints, decay, fade, pulses, wander
from aor_lib.soundscape.foley import engine, motor
from aor_lib.soundscape.impacts import METAL, WOOD, burst, struck
from aor_lib.soundscape.model import FloatArray
from aor_lib.soundscape.textures import band_noise, grains, shaped_noise, varied
from aor_lib.soundscape.timing import scattered, steady
from aor_lib.soundscape.tones import beep, oscillator, rolloff_partials

_DUST_EXTRACTOR = [(80, -4.0), (250, 0.0), (1200, -12.0), (4000, -26.0)]
_SAWDUST = [(700, -16.0), (2500, -2.0), (5000, 0.0), (10000, -10.0)]
_DIESEL_CLATTER = [(100, -6.0), (700, 0.0), (1800, -4.0), (6000, -26.0)]
_CHISEL = [(150, 0.0), (600, -4.0), (2200, 0.0), (7000, -10.0)]


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


def demolition_site(canvas: Canvas) -> None:
    """Jackhammer and excavator, a reversing beeper, walls coming down as rubble."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    diesel = engine(n, rate, rng.uniform(26.0, 38.0), _DIESEL_CLATTER, rng, clatter_gain=0.8)
    canvas.add_bed(diesel * (1 + 0.4 * wander(n, rate, 0.7, rng)), -16)
    hydraulics = oscillator(
        rng.uniform(330.0, 480.0) * (1 + 0.1 * wander(n, rate, 1.0, rng)), rate, (1.0, 0.5, 0.2)
    )
    canvas.add_bed(hydraulics * (1 + wander(n, rate, 1.0, rng)), -30)
    blows_hz = rng.uniform(17.0, 25.0)
    onset = -rng.uniform(0.0, 1.0)
    while onset < canvas.duration_s:
        seconds = rng.uniform(1.2, 2.4)
        start, stop = max(onset, 0.0), onset + seconds
        hammering = _jackhammer(stop - start, blows_hz * rng.normal(1.0, 0.03), rate, rng)
        canvas.add_event("jackhammer", start, hammering, -2)
        onset = stop + rng.uniform(0.2, 0.7)
    for onset in scattered(canvas.duration_s, 2.2, rng):
        canvas.add_event("falling rubble", onset, _rubble(rate, rng), 2)
    pitch_hz, period_s = rng.uniform(1050.0, 1350.0), rng.uniform(0.85, 1.1)
    for onset in steady(canvas.duration_s, period_s, rng, jitter=0.0):
        warning = beep(pitch_hz, 0.45 * period_s, rate, (1.0, 0.0, 0.35, 0.0, 0.15))
        canvas.add_event("reversing beeper", onset, warning, -9)
    canvas.reverberate(0.8, -12.0, 2500.0)


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


def _jackhammer(seconds: float, blows_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(seconds * rate)
    speed = blows_hz * (1.0 + 0.03 * wander(n, rate, 6.0, rng))
    chisel = shaped_noise(n, rate, varied(_CHISEL, rng), rng) * pulses(speed, rate, 5.0, 0.0)
    ring = oscillator(np.full(n, rng.uniform(900.0, 1300.0)), rate, (1.0, 0.0, 0.5, 0.6))
    return fade(chisel + 0.25 * ring * pulses(speed, rate, 6.0, 0.0), rate, 0.02, 0.05)


def _rubble(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(1.2, 1.8) * rate)
    stones = [
        burst(round(0.12 * rate), rate, [(hz / 4, -12.0), (hz, 0.0), (hz * 4, -18.0)], 0.1, rng)
        for hz in rng.uniform(250.0, 1500.0, 4)
    ]
    slide = grains(140.0 * breakpoints(n, [(0, 1), (0.3, 0.5), (1, 0)]), rate, stones, rng)
    slab = burst(n, rate, [(40, 0.0), (200, 0.0), (1500, -24.0)], 0.7, rng)
    return overlay([(0.0, slide * decay(n, rate, 3.5)), (0.0, 1.5 * slab)], rate)
