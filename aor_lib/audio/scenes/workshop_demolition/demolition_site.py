"""A building being torn down."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, pulses, wander
from aor_lib.audio.scenes.foley import engine
from aor_lib.audio.scenes.impacts import burst
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import beep, oscillator

_DIESEL_CLATTER = [(100, -6.0), (700, 0.0), (1800, -4.0), (6000, -26.0)]
_CHISEL = [(150, 0.0), (600, -4.0), (2200, 0.0), (7000, -10.0)]


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
