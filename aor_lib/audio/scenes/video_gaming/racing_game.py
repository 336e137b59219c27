"""A racing game that runs on a television."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, fade, wander
from aor_lib.audio.scenes.impacts import burst, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import PENTATONIC, semitones
from aor_lib.audio.scenes.textures import band_noise, shaped_noise
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import beep, oscillator, rolloff_partials

_EXHAUST = [(120, -8.0), (500, 0.0), (1800, -6.0), (6000, -26.0)]


def racing_game(canvas: Canvas) -> None:
    """A car that revs through its gears, rivals passing, squealing tyres, a countdown, a beat."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(_revving(n, rate, rng), -17)
    beat_s = 60.0 / rng.uniform(138.0, 160.0)
    start_s = -beat_s * rng.uniform(0.0, 4.0)
    canvas.add_bed(_synth_bass(n, rate, beat_s, start_s, rng), -16)
    kick = thump(canvas.length(0.22), rate, 240.0, 52.0, 0.25)
    snare = burst(canvas.length(0.16), rate, [(180, -4.0), (1500, 0.0), (9000, -4.0)], 0.16, rng)
    for beat in range(int((canvas.duration_s - start_s) / beat_s) + 1):
        at = start_s + beat * beat_s
        canvas.add_event("kick drum", at, kick, -9)
        if beat % 2:
            canvas.add_event("snare drum", at, snare, -7)
    for onset in scattered(canvas.duration_s, 1.25, rng):
        canvas.add_event("tyre squeal", onset, _squeal(rate, rng), 2)
    for onset in scattered(canvas.duration_s, 2.2, rng):
        canvas.add_event("passing car", onset, _passing_car(rate, rng), 1)
    for onset in scattered(canvas.duration_s, 3.2, rng):
        canvas.add_event("countdown beep", onset, _countdown(rate, rng), -8)


def _revving(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    """Full throttle: the pitch climbs through each gear and falls back at the change of gear."""
    gear_s = rng.uniform(0.9, 1.4)
    turn = np.arange(n) / (rate * gear_s) + rng.uniform()
    gear = turn.astype(np.int64)
    within = turn - gear
    start_hz = rng.uniform(85.0, 110.0) * (1.0 + 0.12 * (gear % 4))
    firing_hz = start_hz * (1.0 + 1.2 * (1.0 - np.exp(-2.2 * within)) / (1.0 - np.exp(-2.2)))
    firing_hz *= 1.0 + 0.01 * wander(n, rate, 30.0, rng)
    # Cylinders are never alike: half the firing rate sounds along as a rasp.
    cylinders = oscillator(firing_hz / 2, rate, rolloff_partials(40, 0.6) * ([0.5, 1.0] * 20))
    exhaust = shaped_noise(n, rate, _EXHAUST, rng) * (1.0 + oscillator(firing_hz, rate, (1.0,)))
    throttle = np.minimum(1.0, 0.25 + within / 0.08)
    sound: FloatArray = (cylinders + 0.35 * exhaust) * throttle
    return sound


def _synth_bass(
    n: int, rate: int, beat_s: float, start_s: float, rng: np.random.Generator
) -> FloatArray:
    """Sixteenth notes of a detuned sawtooth in octaves, with a hi-hat between the beats."""
    sixteenth = (np.arange(n) / rate - start_s) * (4.0 / beat_s)
    step = sixteenth.astype(np.int64)
    within = sixteenth - step
    roots = semitones(rng.uniform(98.0, 131.0), rng.permutation([0.0, 3.0, -2.0, -4.0]))
    octaves = np.array([1.0, 1.0, 2.0, 1.0])
    pitch = roots[step // 16 % 4] * octaves[step % 4]
    saw = rolloff_partials(24, 0.7)
    bass = oscillator(pitch, rate, saw) + oscillator(pitch * 1.006, rate, saw, 0.3)
    lead_steps = rng.choice(PENTATONIC, 16)
    lead_hz = 4.0 * semitones(roots[0], lead_steps)[step // 2 % 16]
    lead = oscillator(lead_hz, rate, saw) + oscillator(lead_hz * 0.992, rate, saw, 0.6)
    hat = band_noise(n, rate, 6000.0, 11_000.0, rng) * (step % 4 == 2) * np.exp(-4.0 * within)
    groove: FloatArray = bass * np.exp(-1.8 * within) + lead + 0.7 * hat
    return groove


def _squeal(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.5, 1.1) * rate)
    pitch = rng.uniform(850.0, 1250.0) * (1.0 + 0.06 * wander(n, rate, 9.0, rng))
    pitch *= breakpoints(n, [(0.0, 1.12), (0.3, 1.0), (1.0, 0.86)])
    rubber = oscillator(pitch, rate, (1.0, 0.7, 0.35, 0.3, 0.1))
    rubber += 0.6 * oscillator(1.31 * pitch, rate, (1.0, 0.4, 0.2))
    skid = band_noise(n, rate, 900.0, 3500.0, rng)
    grip = 1.0 + 0.5 * wander(n, rate, 35.0, rng)
    return fade((rubber + 0.5 * skid) * grip, rate, 0.05, 0.2)


def _passing_car(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(1.0, 1.4) * rate)
    # Doppler shift at 55 m/s, and the level of a source that passes at a few metres.
    place = np.linspace(-3.0, 3.0, n)
    doppler = 1.0 - 0.16 * place / np.sqrt(np.square(place) + 0.15)
    pitch = rng.uniform(150.0, 240.0) * doppler
    motor = oscillator(pitch, rate, rolloff_partials(20, 0.7))
    wind = band_noise(n, rate, 300.0, 2500.0, rng)
    near = 1.0 / (0.3 + np.square(place))
    return fade((motor + 0.4 * wind) * near, rate, 0.1, 0.1)


def _countdown(rate: int, rng: np.random.Generator) -> FloatArray:
    low_hz = rng.uniform(480.0, 560.0)
    square = (1.0, 0.0, 0.33, 0.0, 0.2)
    short = beep(low_hz, 0.13, rate, square)
    start = beep(2 * low_hz, 0.5, rate, square)
    return overlay([(0.0, short), (0.34, short), (0.68, short), (1.02, start)], rate)
