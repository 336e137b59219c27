"""An operation under anaesthesia."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, pulses
from aor_lib.audio.scenes.foley import suction
from aor_lib.audio.scenes.impacts import METAL, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import semitones
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import oscillator

_AIRFLOW = [(60, -8.0), (250, 0.0), (900, -5.0), (3000, -18.0), (8000, -36.0)]
_SUCKER = [(500, -16.0), (1500, -4.0), (3500, 0.0), (7000, -4.0)]


def operating_theatre(canvas: Canvas) -> None:
    """The oximeter's pulse tone, a sucker, instruments on steel, the anaesthetist's bellows."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_AIRFLOW, rng), rng), -30)
    for onset in steady(canvas.duration_s, rng.uniform(1.3, 1.7), rng, jitter=0.02):
        canvas.add_event("breathing machine", onset, _bellows(rate, rng), -7)
    # The oximeter's tone falls in steps with the oxygen in the blood.
    pitches = semitones(rng.uniform(560.0, 680.0), [0.0, 1.0, 2.0])
    for onset in steady(canvas.duration_s, 60.0 / rng.uniform(70.0, 100.0), rng, jitter=0.03):
        canvas.add_event("pulse tone", onset, _pulse_tone(float(rng.choice(pitches)), rate), -3)
    for onset in scattered(canvas.duration_s, 1.7, rng):
        n_sucked = round(rng.uniform(0.6, 1.2) * rate)
        drawn = suction(n_sucked, rate, varied(_SUCKER, rng), rng, slurp_gain=2.5)
        canvas.add_event("suction", onset, fade(drawn, rate, 0.05, 0.12), -5)
    for onset in scattered(canvas.duration_s, 0.5, rng):
        canvas.add_event("instrument", onset, _instrument(rate, rng), -2)
    canvas.reverberate(0.6, -9.0, 6000.0)


def _pulse_tone(pitch_hz: float, rate: int) -> FloatArray:
    n = round(0.2 * rate)
    tone = oscillator(np.full(n, pitch_hz), rate, (1.0, 0.08)) * decay(n, rate, 0.45)
    return fade(tone, rate, 0.006, 0.04)


def _bellows(rate: int, rng: np.random.Generator) -> FloatArray:
    """A stroke of the bellows through a corrugated hose, the valve's clack, and a sigh."""
    n_in, n_out = round(0.55 * rate), round(0.6 * rate)
    ribs = 0.5 + pulses(np.full(n_in, rng.uniform(26.0, 34.0)), rate, 2.0, 0.0)
    inward = band_noise(n_in, rate, 160.0, 520.0, rng) * ribs
    inward *= breakpoints(n_in, [(0.0, 0.0), (0.3, 1.0), (0.9, 0.8), (1.0, 0.0)])
    outward = band_noise(n_out, rate, 300.0, 900.0, rng)
    outward *= breakpoints(n_out, [(0.0, 0.0), (0.08, 1.0), (1.0, 0.0)])
    valve = struck(round(0.08 * rate), rate, rng.uniform(420.0, 520.0), METAL, 0.06, rng)
    return overlay([(0.0, inward), (0.56, 1.2 * valve), (0.58, 0.7 * outward)], rate)


def _instrument(rate: int, rng: np.random.Generator) -> FloatArray:
    """Steel that is laid on steel, and sometimes into a dish that rings lower."""
    at, parts = 0.0, []
    for _ in range(rng.integers(1, 4)):
        clink = struck(round(0.4 * rate), rate, rng.uniform(2300.0, 3800.0), METAL, 0.45, rng)
        parts.append((at, fade(clink, rate, 0.0, 0.05) * rng.uniform(0.5, 1.0)))
        at += rng.uniform(0.04, 0.12)
    if rng.uniform() < 0.35:
        dish = struck(round(0.5 * rate), rate, rng.uniform(850.0, 1150.0), METAL, 0.5, rng)
        parts.append((0.0, fade(dish, rate, 0.0, 0.05)))
    return overlay(parts, rate)
