"""Loggers at work in a forest."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, pulses, wander
from aor_lib.audio.scenes.impacts import WOOD, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import glide, oscillator, rolloff_partials

_FOREST = [(150, -14.0), (500, -4.0), (1500, 0.0), (4000, -6.0), (9000, -24.0)]
_CHAIN = [(600, -10.0), (1800, 0.0), (4500, -3.0), (9000, -16.0)]
_SPLINTERS = [(400, -10.0), (1200, 0.0), (4000, -4.0), (9000, -20.0)]
_FOLIAGE = [(300, -10.0), (1200, -2.0), (3500, 0.0), (8000, -10.0)]


def logging_site(canvas: Canvas) -> None:
    """A near and a far chainsaw, an axe that echoes, trees that creak and fall, birds."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    leaves = shaped_noise(n, rate, varied(_FOREST, rng), rng)
    canvas.add_bed(leaves * (1 + 0.5 * wander(n, rate, 0.8, rng)), -32)
    far_hz = rng.uniform(95.0, 125.0) * (1 + 0.2 * wander(n, rate, 1.2, rng))
    far_saw = oscillator(far_hz, rate, rolloff_partials(14, 1.0))
    canvas.add_bed(far_saw * (1 + 0.5 * wander(n, rate, 1.2, rng)), -26)
    full_hz, onset = rng.uniform(180.0, 220.0), 0.0
    while onset < canvas.duration_s:
        seconds = rng.uniform(1.0, 1.7)
        canvas.add_event("chainsaw", onset, _chainsaw(seconds, full_hz, rate, rng), 0)
        onset += seconds + rng.uniform(0.05, 0.25)
    trunk_hz, echo_s = rng.uniform(360.0, 480.0), rng.uniform(0.22, 0.32)
    for onset in steady(canvas.duration_s, rng.uniform(0.75, 1.0), rng, jitter=0.06):
        canvas.add_event("axe", onset, _axe(trunk_hz, echo_s, rate, rng), 2)
    for onset in scattered(canvas.duration_s, 2.8, rng):
        canvas.add_event("falling tree", onset, _falling_tree(rate, rng), 1)
    for onset in scattered(canvas.duration_s, 0.6, rng):
        canvas.add_event("bird", onset, _bird(rate, rng), -10)
    canvas.reverberate(0.9, -14.0, 2500.0)


def _chainsaw(seconds: float, full_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    """Two-stroke engine that is revved up from idling, bites, and is let go again."""
    n = round(seconds * rate)
    revs = breakpoints(n, [(0.0, 0.28), (0.12, 1.0), (0.2, 0.88), (0.82, 0.92), (1.0, 0.28)])
    speed = full_hz * revs * (1.0 + 0.03 * wander(n, rate, 14.0, rng))
    # A single cylinder never fires twice alike: the exhaust rattles at half its speed too.
    exhaust = oscillator(speed, rate, rolloff_partials(40, 0.55)) * (
        1.0 + 0.4 * pulses(speed / 2, rate, 2.0, 0.0)
    )
    bite = breakpoints(n, [(0.0, 0.1), (0.15, 0.3), (0.25, 1.0), (0.8, 1.0), (0.9, 0.2), (1.0, 0)])
    chain = shaped_noise(n, rate, varied(_CHAIN, rng), rng) * pulses(speed, rate, 1.5, 0.5)
    return fade(exhaust * revs + 0.8 * bite * chain, rate, 0.04, 0.1)


def _axe(trunk_hz: float, echo_s: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.2 * rate)
    trunk = struck(n, rate, trunk_hz * rng.normal(1.0, 0.03), WOOD, 0.13, rng)
    edge = burst(n, rate, varied(_SPLINTERS, rng), 0.04, rng)
    chop = trunk + 0.7 * edge + thump(n, rate, 220.0, 110.0, 0.1)
    echo = struck(n, rate, trunk_hz, WOOD[:3], 0.18, rng)
    return overlay([(0.0, chop), (echo_s, 0.2 * echo)], rate)


def _falling_tree(rate: int, rng: np.random.Generator) -> FloatArray:
    """Fibres creak ever faster and crack, the crown sweeps down, the trunk hits the ground."""
    n_creak, n_fall, n_hit = round(0.7 * rate), round(0.9 * rate), round(0.7 * rate)
    fibre_hz = rng.uniform(500.0, 800.0)
    slips = pulses(glide(n_creak, 14.0, rng.uniform(60.0, 90.0)), rate, 6.0, 0.0)
    creak = band_noise(n_creak, rate, fibre_hz, 1.6 * fibre_hz, rng) * slips
    crack = [burst(round(0.12 * rate), rate, varied(_SPLINTERS, rng), 0.06, rng) for _ in range(3)]
    cracking = grains(np.full(round(0.4 * rate), 22.0), rate, crack, rng)
    crown = shaped_noise(n_fall, rate, varied(_FOLIAGE, rng), rng)
    crown *= breakpoints(n_fall, [(0.0, 0.0), (0.7, 1.0), (1.0, 0.3)])
    trunk = thump(n_hit, rate, 90.0, 42.0, 0.5)
    trunk += 0.4 * burst(n_hit, rate, [(60, 0.0), (300, -6.0), (2500, -30.0)], 0.4, rng)
    fall_s = rng.uniform(0.7, 0.8)
    return overlay(
        [
            (0.0, 0.4 * creak * np.linspace(0.3, 1.0, n_creak)),
            (0.5, 0.5 * cracking),
            (fall_s, 0.2 * crown),
            (fall_s + 0.65, 2.0 * trunk),
        ],
        rate,
    )


def _bird(rate: int, rng: np.random.Generator) -> FloatArray:
    """A phrase of one kind of note, repeated."""
    n = round(rng.uniform(0.05, 0.11) * rate)
    start_hz = rng.uniform(2800.0, 5000.0)
    pitch = glide(n, start_hz, start_hz * rng.uniform(0.7, 1.4))
    note = fade(oscillator(pitch, rate, (1.0, 0.1)), rate, 0.015, 0.03) * decay(n, rate, 0.4)
    gap_s = n / rate + rng.uniform(0.02, 0.08)
    return overlay([(index * gap_s, note) for index in range(rng.integers(2, 7))], rate)
