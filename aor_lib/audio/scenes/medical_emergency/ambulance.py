"""The inside of an ambulance on its way."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import pulses, wander
from aor_lib.audio.scenes.foley import engine
from aor_lib.audio.scenes.impacts import METAL, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import beep, oscillator, rolloff_partials

_CAB = [(30, 0.0), (90, -2.0), (300, -14.0), (1500, -34.0)]
_ROAD = [(40, 0.0), (150, -4.0), (600, -12.0), (2500, -34.0)]


def ambulance(canvas: Canvas) -> None:
    """Siren heard from inside, engine and road, radio squelch without words, a monitor."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(_siren(n, rate, rng), -14)
    canvas.add_bed(engine(n, rate, rng.uniform(48.0, 75.0), _CAB, rng, clatter_gain=0.6), -18)
    road = shaped_noise(n, rate, varied(_ROAD, rng), rng)
    canvas.add_bed(road * (1 + 0.4 * wander(n, rate, 3.0, rng)), -22)
    for onset in scattered(canvas.duration_s, 1.9, rng):
        canvas.add_event("radio squelch", onset, _squelch(rate, rng), -7)
    pulse = beep(rng.uniform(1150.0, 1500.0), 0.07, rate)
    for onset in steady(canvas.duration_s, 60.0 / rng.uniform(105.0, 140.0), rng, jitter=0.02):
        canvas.add_event("heart monitor", onset, pulse, -9)
    for onset in scattered(canvas.duration_s, 2.0, rng):
        rattle = struck(round(0.2 * rate), rate, rng.uniform(500, 1200), METAL, 0.15, rng)
        canvas.add_event("rattle", onset, rattle, -12)


def _siren(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    """Wail and yelp in turns: the same sweep, once slow and once fast."""
    turn = 2.0 * np.arange(n) / (rate * rng.uniform(4.0, 7.0)) + rng.uniform(0.0, 2.0)
    wailing = turn.astype(np.int64) % 2 == 0
    sweeps_hz = np.where(wailing, rng.uniform(0.35, 0.55), rng.uniform(2.6, 3.8))
    # Integrating the sweep's rate keeps the pitch continuous when the mode changes.
    sweep = 0.5 - 0.5 * np.cos(2 * np.pi * (np.cumsum(sweeps_hz) / rate + rng.uniform()))
    low_hz = rng.uniform(560.0, 720.0)
    pitch = low_hz * 2.2**sweep
    return oscillator(
        pitch, rate, rolloff_partials(8, 1.2) * (1.0, 0.6, 1.0, 0.5, 0.6, 0.3, 0.2, 0.1)
    )


def _squelch(rate: int, rng: np.random.Generator) -> FloatArray:
    """Key click and static, a carrier garbled beyond speech, static, and the roger beep."""
    n = round(rng.uniform(0.4, 0.8) * rate)
    static = band_noise(round(0.12 * rate), rate, 700.0, 3200.0, rng)
    garble_hz = rng.uniform(220.0, 420.0) * (1 + 0.5 * wander(n, rate, 7.0, rng))
    garble = oscillator(garble_hz, rate, rolloff_partials(8, 0.6))
    garble *= pulses(np.full(n, rng.uniform(5.0, 8.0)), rate, 2.5, 0.0)
    garbled = garble + 0.7 * band_noise(n, rate, 700.0, 2800.0, rng)
    parts = [(0.0, 1.4 * static), (0.12, 0.7 * garbled), (0.12 + n / rate, 1.4 * static)]
    return overlay([*parts, (0.26 + n / rate, beep(1500.0, 0.1, rate))], rate)
