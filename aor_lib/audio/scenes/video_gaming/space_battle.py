"""A space battle game that runs on a television."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import decay, fade, wander
from aor_lib.audio.scenes.impacts import burst, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials

_BLAST = [(40, 0.0), (200, 0.0), (900, -10.0), (4000, -34.0)]
_VENTS = [(60, 0.0), (200, -4.0), (900, -18.0), (5000, -40.0)]


def space_battle(canvas: Canvas) -> None:
    """A throbbing reactor, a shield alarm that warbles, salvoes of laser cannons, hits."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(_reactor(n, rate, rng), -15)
    canvas.add_bed(shaped_noise(n, rate, varied(_VENTS, rng), rng), -25)
    alarm_hz, warble_hz = rng.uniform(560.0, 700.0), rng.uniform(6.0, 8.5)
    for onset in steady(canvas.duration_s, rng.uniform(1.0, 1.25), rng, jitter=0.0):
        canvas.add_event("shield alarm", onset, _alarm(alarm_hz, warble_hz, rate), -11)
    for onset in scattered(canvas.duration_s, 0.85, rng):
        gap_s = rng.uniform(0.13, 0.19)
        cannon = _laser_cannon(rng.uniform(150.0, 260.0), rate, rng)
        for shot in range(rng.integers(2, 5)):
            canvas.add_event("laser cannon", onset + shot * gap_s, cannon, 2)
    for onset in scattered(canvas.duration_s, 2.0, rng):
        canvas.add_event("explosion", onset, _explosion(rate, rng), 0)
    canvas.reverberate(1.8, -7.0, 3500.0)


def _reactor(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    """Two detuned drones whose upper harmonics throb."""
    drone_hz = rng.uniform(52.0, 66.0)
    time_s = np.arange(n) / rate
    throb = 0.5 + 0.5 * np.sin(2 * np.pi * (rng.uniform(1.4, 2.0) * time_s + rng.uniform()))
    low = oscillator(np.full(n, drone_hz), rate, rolloff_partials(6, 1.0))
    detuned = np.full(n, 1.009 * drone_hz)
    high = oscillator(detuned, rate, rolloff_partials(22, 0.5) * np.r_[np.zeros(4), np.ones(18)])
    return low + 0.6 * throb * high


def _alarm(pitch_hz: float, warble_hz: float, rate: int) -> FloatArray:
    n = round(0.7 * rate)
    warble = np.sin(2 * np.pi * warble_hz * np.arange(n) / rate)
    return fade(
        oscillator(pitch_hz * 2.0 ** (0.35 * warble), rate, (1.0, 0.0, 0.3, 0.0, 0.12)),
        rate,
        0.02,
        0.05,
    )


def _laser_cannon(rest_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    """The chirp of a struck guy wire, in which high frequencies arrive first, over a thud."""
    n = round(0.42 * rate)
    arrival_s = np.arange(n) / rate + 0.004
    chirp = np.minimum(rest_hz + rng.uniform(20.0, 32.0) / arrival_s, 0.4 * rate)
    beam = oscillator(chirp, rate, (1.0,)) * decay(n, rate, 0.5)
    ring = oscillator(1.47 * chirp, rate, (0.6,)) * decay(n, rate, 0.35)
    recoil = thump(n, rate, 180.0, 60.0, 0.25)
    return fade(beam + ring + 0.8 * recoil, rate, 0.001, 0.05)


def _explosion(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(1.3 * rate)
    rumble = burst(n, rate, varied(_BLAST, rng), 1.3, rng) * (1 + 0.6 * wander(n, rate, 18.0, rng))
    return fade(rumble + 1.2 * thump(n, rate, 120.0, 32.0, 0.9), rate, 0.004, 0.1)
