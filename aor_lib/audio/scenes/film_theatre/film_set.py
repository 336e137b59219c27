"""A film set between takes."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import fade, pulses, wander
from aor_lib.audio.scenes.foley import bell, engine, footstep
from aor_lib.audio.scenes.impacts import WOOD, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials

_GENERATOR_CLATTER = [(60, 0.0), (400, -8.0), (2000, -30.0)]
_CONCRETE = [(300, -20.0), (1500, 0.0), (4000, -8.0), (9000, -30.0)]


def film_set(canvas: Canvas) -> None:
    """Generator hum and the whirr of a film camera; slate, set bell, steps, a rolling dolly."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    mains_hz = rng.choice((50.0, 60.0))
    hum = oscillator(np.full(n, mains_hz), rate, [0.3, 1.0, 0.1, 0.7, 0.05, 0.4, 0.0, 0.3])
    canvas.add_bed(hum, -25)
    generator = engine(n, rate, rng.uniform(22.0, 28.0), _GENERATOR_CLATTER, rng, clatter_gain=0.5)
    canvas.add_bed(generator, -28)
    canvas.add_bed(_camera(n, rate, rng), -21)
    for onset in scattered(canvas.duration_s, 2.6, rng):
        canvas.add_event("clapperboard", onset, _clapperboard(rate, rng), 2)
    for onset in scattered(canvas.duration_s, 4.0, rng):
        canvas.add_event("set bell", onset, _set_bell(rate, rng), -8)
    for onset in steady(canvas.duration_s, rng.uniform(0.5, 0.75), rng, jitter=0.15):
        canvas.add_event("footstep", onset, footstep(190.0, _CONCRETE, rate, rng), -7)
    for onset in scattered(canvas.duration_s, 3.5, rng):
        canvas.add_event("dolly", onset, _dolly(rng.uniform(1.2, 2.2), rate, rng), -10)
    canvas.reverberate(0.6, -9.0, 4000.0)


def _camera(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    # The claw pulls the film down 24 times a second; the whine is the motor behind it.
    speed = 24.0 * (1.0 + 0.01 * wander(n, rate, 2.0, rng))
    claw_hz = rng.uniform(1500.0, 2300.0)
    claw = band_noise(n, rate, claw_hz, 2.2 * claw_hz, rng) * pulses(speed, rate, 7.0, 0.0)
    whine = oscillator(speed * rng.integers(28, 40), rate, rolloff_partials(4, 1.5))
    return claw + 0.12 * whine


def _clapperboard(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.3 * rate)
    stick = struck(n, rate, rng.uniform(850.0, 1150.0), WOOD, 0.09, rng)
    snap = burst(n, rate, [(500, -12.0), (2000, 0.0), (7000, -6.0)], 0.05, rng)
    return 0.5 * stick + snap


def _set_bell(rate: int, rng: np.random.Generator) -> FloatArray:
    nominal_hz, strikes_hz = rng.uniform(1500.0, 2100.0), rng.uniform(14.0, 20.0)
    stroke = bell(nominal_hz, 0.5, rate, rng)
    n_strokes = int(rng.uniform(0.6, 1.0) * strikes_hz)
    return overlay([(index / strikes_hz, stroke) for index in range(n_strokes)], rate)


def _dolly(seconds: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(seconds * rate)
    rumble = shaped_noise(n, rate, [(40, -6.0), (120, 0.0), (500, -8.0), (2500, -36.0)], rng)
    joint = thump(round(0.08 * rate), rate, 300.0, 150.0, 0.08)
    rattle = grains(np.full(n, 9.0), rate, [joint], rng)
    return fade(rumble + 0.6 * rattle, rate, 0.3, 0.4)
