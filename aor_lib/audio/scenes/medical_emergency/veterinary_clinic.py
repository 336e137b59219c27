"""The treatment room of a veterinary clinic."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, fade, pulses, wander
from aor_lib.audio.scenes.impacts import METAL, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials
from aor_lib.audio.scenes.voices import cry

_ROOM = [(60, 0.0), (250, -6.0), (900, -16.0), (4000, -36.0)]


def veterinary_clinic(canvas: Canvas) -> None:
    """A large and a small dog, a cat, clippers that buzz, animals that rattle their cages."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_ROOM, rng), rng), -33)
    canvas.add_bed(_clippers(n, rate, rng), -20)
    dogs = ((rng.uniform(260.0, 360.0), 1.1, 0), (rng.uniform(520.0, 720.0), 1.6, -3))
    for pitch_hz, tract, level_db in dogs:
        for onset in scattered(canvas.duration_s, 1.5, rng):
            for _ in range(rng.integers(1, 4)):
                canvas.add_event("barking dog", onset, _bark(pitch_hz, tract, rate, rng), level_db)
                onset += rng.uniform(0.22, 0.36)
    cat_hz = rng.uniform(480.0, 640.0)
    for onset in scattered(canvas.duration_s, 1.6, rng):
        canvas.add_event("mewing cat", onset, _mew(cat_hz, rate, rng), -4)
    for onset in scattered(canvas.duration_s, 1.1, rng):
        canvas.add_event("rattling cage", onset, _cage(rate, rng), 0)
    canvas.reverberate(0.7, -7.0, 5000.0)


def _clippers(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    """A vibrating armature and the blade that it drags through fur."""
    buzz_hz = rng.uniform(100.0, 120.0) * (1.0 + 0.01 * wander(n, rate, 3.0, rng))
    phase = rng.uniform()
    through_fur = 1.0 + 0.6 * wander(n, rate, 2.5, rng)
    blade = band_noise(n, rate, 1800.0, 5500.0, rng) * pulses(buzz_hz, rate, 3.0, phase)
    buzz = oscillator(buzz_hz, rate, rolloff_partials(30, 0.6), phase)
    return buzz + 0.7 * through_fur * blade


def _bark(pitch_hz: float, tract: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.13, 0.2) * rate)
    arch = breakpoints(n, [(0.0, 0.7), (0.25, 1.0), (0.6, 0.9), (1.0, 0.55)])
    pitch = pitch_hz * rng.normal(1.0, 0.05) * arch * (1 + 0.06 * wander(n, rate, 150.0, rng))
    rasp = band_noise(n, rate, 600.0 * tract, 2000.0 * tract, rng) * arch
    return fade(cry(pitch, (4, 0, 3), tract, rate) + 0.35 * rasp, rate, 0.012, 0.08)


def _mew(pitch_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.5, 0.9) * rate)
    contour = breakpoints(n, [(0.0, 0.8), (0.25, 1.15), (0.6, 1.1), (1.0, 0.75)])
    pitch = pitch_hz * rng.normal(1.0, 0.06) * contour * (1 + 0.01 * wander(n, rate, 12.0, rng))
    return fade(cry(pitch, (2, 1, 0, 4), 1.7, rate), rate, 0.08, 0.2)


def _cage(rate: int, rng: np.random.Generator) -> FloatArray:
    """Paws on a wire door: its bars hit the frame in quick succession."""
    at, parts = 0.0, []
    frame_hz = rng.uniform(650.0, 900.0)
    for _ in range(rng.integers(5, 11)):
        bar_hz = frame_hz * rng.uniform(1.0, 2.6)
        bar = struck(round(0.2 * rate), rate, bar_hz, METAL, 0.18, rng)
        parts.append((at, bar * rng.uniform(0.4, 1.0)))
        at += rng.uniform(0.025, 0.09)
    return overlay(parts, rate)
