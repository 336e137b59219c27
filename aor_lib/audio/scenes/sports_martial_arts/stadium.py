"""A match in a stadium."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import fade, wander
from aor_lib.audio.scenes.impacts import burst, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import oscillator
from aor_lib.audio.scenes.voices import applause, chant

_ROAR = [(120, -20.0), (350, -5.0), (800, 0.0), (1400, -5.0), (2800, -16.0), (8000, -40.0)]


def stadium(canvas: Canvas) -> None:
    """Roars that swell, chanting, drums, rhythmic clapping and the referee's whistle."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    roar = shaped_noise(n, rate, varied(_ROAR, rng), rng)
    canvas.add_bed(roar * 10.0 ** (0.3 * wander(n, rate, 0.8, rng)), -15)
    canvas.add_bed(applause(60.0 * (1 + 0.6 * wander(n, rate, 0.7, rng)), rate, rng), -25)
    beat_s = rng.uniform(0.36, 0.5)
    start_s = -beat_s * rng.uniform(0.0, 4.0)
    chant_hz = rng.uniform(130.0, 180.0)
    drums = [_bass_drum(rate, rng) for _ in range(3)]
    volley_hz = np.full(canvas.length(0.07), 500.0)
    volleys = [applause(volley_hz, rate, rng) for _ in range(3)]
    pattern = rng.choice((0, 1, 1, 2), (2, 4))
    for beat in range(int((canvas.duration_s - start_s) / beat_s) + 1):
        at = start_s + beat * beat_s * rng.normal(1.0, 0.002)
        for half in range(2):
            if pattern[half, beat % 4] > half:
                canvas.add_event("drum", at + half * beat_s / 2, drums[rng.integers(3)], 0)
        if beat % 2:
            canvas.add_event("clapping", at, volleys[rng.integers(3)], -2)
        if beat % 4 == 0:
            pitch_hz = chant_hz * rng.choice((1.0, 9 / 8, 4 / 3))
            sung = chant(pitch_hz, beat_s * rng.uniform(1.6, 3.0), 3, rate, rng)
            canvas.add_event("chant", at, sung, -4)
    for onset in scattered(canvas.duration_s, 2.6, rng):
        for blow_s in rng.choice((0.18, 0.5, 0.8), rng.integers(1, 3)):
            canvas.add_event("whistle", onset, _whistle(blow_s, rate, rng), -7)
            onset += blow_s + 0.1
    canvas.reverberate(1.4, -5.0, 4000.0)


def _bass_drum(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.45 * rate)
    skin = thump(n, rate, 140.0 * rng.normal(1.0, 0.03), 62.0, 0.5)
    return skin + 0.15 * burst(n, rate, [(100, 0.0), (800, -6.0), (3000, -30.0)], 0.08, rng)


def _whistle(seconds: float, rate: int, rng: np.random.Generator) -> FloatArray:
    # The pea interrupts the air stream some 35 times a second and pulls the pitch with it.
    n = round(seconds * rate)
    trill = np.sin(2 * np.pi * rng.uniform(30.0, 40.0) * np.arange(n) / rate)
    pitch = rng.uniform(2500.0, 3000.0) * (1.0 + 0.03 * trill)
    air = band_noise(n, rate, 2200.0, 5000.0, rng)
    blown = (oscillator(pitch, rate, (1.0, 0.12, 0.05)) + 0.1 * air) * (0.65 + 0.35 * trill)
    return fade(blown, rate, 0.015, 0.03)
