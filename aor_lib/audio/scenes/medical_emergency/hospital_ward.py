"""A hospital ward at the bedside."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade
from aor_lib.audio.scenes.impacts import METAL, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import semitones
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import beep, oscillator

_VENTILATION = [(60, 0.0), (200, -5.0), (800, -14.0), (3000, -30.0)]


def hospital_ward(canvas: Canvas) -> None:
    """Heart monitor, a ventilator's cycle, trolleys passing, an alarm's three-note chime."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_VENTILATION, rng), rng), -31)
    canvas.add_bed(_ventilator(n, rate, rng), -21)
    pulse = beep(rng.uniform(900.0, 1050.0), 0.1, rate, (1.0, 0.1, 0.12))
    for onset in steady(canvas.duration_s, 60.0 / rng.uniform(72.0, 110.0), rng, jitter=0.02):
        canvas.add_event("heart monitor", onset, pulse, -5)
    second_hz = rng.uniform(640.0, 720.0)
    for onset in scattered(canvas.duration_s, 1.9, rng):
        second_pulse = beep(second_hz, 0.16, rate, (1.0, 0.3))
        canvas.add_event("infusion pump", onset, second_pulse, -11)
    for onset in scattered(canvas.duration_s, 3.2, rng):
        canvas.add_event("trolley", onset, _trolley(rng.uniform(1.2, 2.0), rate, rng), -10)
    for onset in scattered(canvas.duration_s, 3.6, rng):
        canvas.add_event("alarm chime", onset, _chime(rng.uniform(480, 560), rate), -7)
    canvas.reverberate(0.7, -9.0, 4000.0)


def _ventilator(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    breaths_hz = rng.uniform(14.0, 22.0) / 60.0
    position = np.arange(n) * (breaths_hz / rate) + rng.uniform()
    inhale = band_noise(n, rate, 350.0, 900.0, rng)
    exhale = band_noise(n, rate, 1100.0, 2800.0, rng)
    turbine = oscillator(np.full(n, rng.uniform(380.0, 460.0)), rate, (1.0, 0.4, 0.2))
    # The machine pushes for two fifths of the cycle; then the valve opens with a hiss.
    fraction = position % 1.0
    pushed = np.interp(fraction, [0.0, 0.05, 0.36, 0.4, 1.0], [0.1, 0.8, 1.1, 0.2, 0.1])
    released = np.interp(fraction, [0.0, 0.43, 0.46, 0.95], [0.1, 0.1, 1.0, 0.1])
    sound: FloatArray = (inhale + 0.4 * turbine) * pushed + 0.8 * exhale * released
    return sound


def _trolley(seconds: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(seconds * rate)
    jingles = [
        struck(round(0.1 * rate), rate, base_hz, METAL, 0.09, rng)
        for base_hz in rng.uniform(900.0, 2200.0, 3)
    ]
    wheels = band_noise(n, rate, 90.0, 350.0, rng)
    passing = breakpoints(n, [(0.0, 0.0), (0.5, 1.0), (1.0, 0.0)])
    return passing * (wheels + 0.7 * grains(np.full(n, 18.0), rate, jingles, rng))


def _chime(root_hz: float, rate: int) -> FloatArray:
    n = round(0.5 * rate)
    notes = [
        oscillator(np.full(n, note_hz), rate, (1.0, 0.4, 0.25, 0.15)) * decay(n, rate, 0.9)
        for note_hz in semitones(root_hz, [0, 4, 7])
    ]
    parts = [(index * 0.19, fade(note, rate, 0.01, 0.05)) for index, note in enumerate(notes)]
    return overlay(parts, rate)
