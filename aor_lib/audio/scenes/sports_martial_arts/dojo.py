"""Throwing practice in a dojo."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade
from aor_lib.audio.scenes.impacts import burst, modal, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.voices import cry

_HALL = [(50, 0.0), (180, -4.0), (700, -14.0), (3000, -34.0)]
_TATAMI = [(120, -4.0), (500, 0.0), (1400, -2.0), (3500, -14.0), (8000, -36.0)]
_GONG = (1.0, 1.41, 1.58, 2.0, 2.37, 2.83, 3.16, 3.72, 4.19, 4.9, 5.63, 6.51, 7.9, 9.7, 12.1)


def dojo(canvas: Canvas) -> None:
    """Bodies that slap the mats as they are thrown, shouts on vowels, gliding feet, a gong."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_HALL, rng), rng), -34)
    for onset in scattered(canvas.duration_s, 0.85, rng):
        canvas.add_event("thrown body", onset, _breakfall(rate, rng), 2)
        if rng.uniform() < 0.5:
            canvas.add_event("shout", onset - 0.25, _shout(rate, rng), -3)
    for onset in scattered(canvas.duration_s, 1.3, rng):
        canvas.add_event("shout", onset, _shout(rate, rng), -4)
    for onset in steady(canvas.duration_s, rng.uniform(0.4, 0.6), rng, jitter=0.2):
        canvas.add_event("sliding foot", onset, _slide(rate, rng), -14)
    gong_hz = rng.uniform(95.0, 140.0)
    for onset in scattered(canvas.duration_s, 2.4, rng):
        canvas.add_event("gong", onset, _gong(gong_hz, rate, rng), -2)
    canvas.reverberate(1.0, -8.0, 3000.0)


def _breakfall(rate: int, rng: np.random.Generator) -> FloatArray:
    """The body's thud, and the arms that slap the mat to break the fall."""
    n = round(0.45 * rate)
    thud = thump(n, rate, 105.0 * rng.normal(1.0, 0.08), 48.0, rng.uniform(0.3, 0.45))
    slap = burst(n, rate, varied(_TATAMI, rng), rng.uniform(0.12, 0.18), rng)
    legs = 0.5 * thump(n, rate, 130.0, 65.0, 0.2)
    return overlay([(0.0, thud + 0.35 * slap), (rng.uniform(0.05, 0.12), legs + 0.2 * slap)], rate)


def _shout(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.28, 0.5) * rate)
    peak_hz = rng.uniform(230.0, 420.0)
    contour = breakpoints(n, [(0.0, 0.65), (0.2, 1.0), (0.6, 0.95), (1.0, 0.6)])
    vowels = ((0,), (1, 0), (2, 1), (4, 0))[rng.integers(4)]
    voice = cry(peak_hz * contour, vowels, rng.uniform(1.0, 1.2), rate)
    # A shout is pressed: air roughens the voice at its loudest.
    air = band_noise(n, rate, 1000.0, 3500.0, rng) * np.square(contour)
    return fade(voice + 0.12 * air, rate, 0.03, 0.16)


def _slide(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.14, 0.3) * rate)
    swish = band_noise(n, rate, rng.uniform(450.0, 700.0), rng.uniform(1800.0, 3000.0), rng)
    return swish * breakpoints(n, [(0.0, 0.0), (0.35, 1.0), (1.0, 0.0)])


def _gong(base_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(2.4 * rate)
    ratios = np.asarray(_GONG) * rng.normal(1.0, 0.006, len(_GONG))
    # Each mode is a pair of close ones: a gong is never quite round, and it beats.
    frequencies = base_hz * np.concatenate(
        [ratios, ratios * rng.uniform(1.003, 1.012, ratios.size)]
    )
    gains = rng.uniform(0.4, 1.0, frequencies.size) * np.tile(ratios, 2) ** -0.5
    t60s = 4.5 * np.tile(ratios, 2) ** -0.5
    high = np.tile(ratios, 2) > 3.0
    strike = modal(n, rate, frequencies[~high], t60s[~high], gains[~high])
    bloom = modal(n, rate, frequencies[high], t60s[high], gains[high])
    # The energy takes a moment to spread from the low modes to the high ones.
    bloom *= 1.0 - decay(n, rate, 0.6)
    mallet = thump(n, rate, 1.6 * base_hz, base_hz, 0.2)
    return fade(strike + 1.2 * bloom + mallet, rate, 0.004, 0.2)
