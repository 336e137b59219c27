"""A horror film that plays in the room."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, wander
from aor_lib.audio.scenes.impacts import burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import semitones
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials

_RUMBLE = [(30, 0.0), (120, 0.0), (400, -8.0), (1500, -24.0)]
_CRACK = [(200, -6.0), (900, 0.0), (4000, -8.0), (9000, -20.0)]
_DOOR_WOOD = (1.0, 1.41, 1.93, 2.62, 3.4)


def horror_film(canvas: Canvas) -> None:
    """Trembling and screeching strings over a low drone, thunder, a creaking door, a heart."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(_tremolo_strings(n, rate, rng), -21)
    drone_hz = rng.uniform(55.0, 70.0) * (1 + 0.01 * wander(n, rate, 2.0, rng))
    drone = oscillator(drone_hz, rate, rolloff_partials(12, 0.9))
    drone += oscillator(1.06 * drone_hz, rate, rolloff_partials(12, 0.9))
    canvas.add_bed(drone * (1 + 0.5 * wander(n, rate, 1.0, rng)), -24)
    heart = _heartbeat(rate)
    for onset in steady(canvas.duration_s, 60.0 / rng.uniform(78.0, 100.0), rng, jitter=0.03):
        canvas.add_event("heartbeat", onset, heart, 0)
    stab_hz = rng.uniform(1100.0, 1500.0)
    for onset in scattered(canvas.duration_s, 1.7, rng):
        pace_s = rng.uniform(0.2, 0.27)
        for stab in range(rng.integers(3, 6)):
            screech = _screech(stab_hz, 0.85 * pace_s, rate, rng)
            canvas.add_event("string screech", onset + stab * pace_s, screech, -5)
    for onset in scattered(canvas.duration_s, 2.6, rng):
        canvas.add_event("thunder", onset, _thunder(rate, rng), 1)
    for onset in scattered(canvas.duration_s, 2.2, rng):
        canvas.add_event("door creak", onset, _creak(rate, rng), -2)
    canvas.reverberate(1.8, -7.0, 4000.0)


def _tremolo_strings(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    """A cluster of neighbouring semitones, each bowed back and forth a dozen times a second."""
    cluster = np.zeros(n)
    for pitch_hz in semitones(rng.uniform(440.0, 620.0), [0.0, 1.0, 6.0, 13.0]):
        bowing_hz = rng.uniform(10.0, 13.0)
        bow = 0.55 + 0.45 * np.sin(2 * np.pi * (bowing_hz * np.arange(n) / rate + rng.uniform()))
        slide = 1.0 + 0.03 * wander(n, rate, 1.0, rng)
        cluster += bow * oscillator(float(pitch_hz) * slide, rate, rolloff_partials(14, 0.9))
    return cluster * (1.0 + 0.4 * wander(n, rate, 1.0, rng))


def _screech(pitch_hz: float, seconds: float, rate: int, rng: np.random.Generator) -> FloatArray:
    """One down-bow of violins a semitone apart, slipping up into the note."""
    n = round(seconds * rate)
    slip = breakpoints(n, [(0.0, 0.82), (0.25, 1.0), (1.0, 1.02)])
    violins = np.zeros(n)
    for interval in (1.0, 1.059, 1.498, 2.12):
        wobble = 1.0 + 0.01 * wander(n, rate, 25.0, rng)
        violins += oscillator(
            pitch_hz * interval * slip * wobble, rate, rolloff_partials(8, 0.7), rng.uniform()
        )
    bow = band_noise(n, rate, 2500.0, 7000.0, rng)
    return fade((violins + 0.5 * bow) * decay(n, rate, 4.0 * seconds), rate, 0.008, 0.03)


def _heartbeat(rate: int) -> FloatArray:
    # Valves closing: the second sound is shorter and higher than the first.
    first = thump(round(0.16 * rate), rate, 130.0, 62.0, 0.17)
    second = thump(round(0.13 * rate), rate, 150.0, 78.0, 0.13)
    return overlay([(0.0, fade(first, rate, 0.004, 0.02)), (0.26, 0.75 * second)], rate)


def _thunder(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(1.6, 2.2) * rate)
    claps = [
        (at, burst(round(0.35 * rate), rate, varied(_CRACK, rng), 0.3, rng) * rng.uniform(0.4, 1.0))
        for at in np.sort(rng.uniform(0.0, 0.3, 4))
    ]
    rolling = shaped_noise(n, rate, varied(_RUMBLE, rng), rng) * decay(n, rate, 2.6)
    rolling *= 1.0 + 0.8 * wander(n, rate, 7.0, rng)
    return overlay([*claps, (0.05, fade(1.3 * rolling, rate, 0.1, 0.3))], rate)


def _creak(rate: int, rng: np.random.Generator) -> FloatArray:
    """A hinge that sticks and slips, ever faster and then slower, and rings in the door."""
    seconds = rng.uniform(0.8, 1.3)
    n = round(seconds * rate)
    slips_hz = breakpoints(n, [(0.0, 18.0), (0.5, rng.uniform(70.0, 130.0)), (1.0, 25.0)])
    slips_hz *= 1.0 + 0.25 * wander(n, rate, 9.0, rng)
    phase = np.cumsum(slips_hz) / rate
    slips = np.flatnonzero(np.diff(phase.astype(np.int64)))
    door_hz = rng.uniform(380.0, 560.0)
    answers = [struck(round(0.05 * rate), rate, door_hz, _DOOR_WOOD, 0.06, rng) for _ in range(4)]
    creak = np.zeros(n)
    for slip in slips:
        answer = answers[rng.integers(4)][: n - slip]
        creak[slip : slip + answer.size] += rng.uniform(0.4, 1.0) * answer
    return fade(creak, rate, 0.1, 0.2)
