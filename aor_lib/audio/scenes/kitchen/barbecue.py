"""A barbecue in a garden."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, wander
from aor_lib.audio.scenes.impacts import METAL, burst, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import oscillator

_FLAMES = [(50, -4.0), (150, 0.0), (500, -10.0), (2000, -26.0), (8000, -40.0)]
_HISS = [(1500, -18.0), (4000, -3.0), (7000, 0.0), (11000, -3.0)]


def barbecue(canvas: Canvas) -> None:
    """Flames that crackle, meat laid on a hot grill, tongs on the bars, birds that sing."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    flames = shaped_noise(n, rate, varied(_FLAMES, rng), rng)
    canvas.add_bed(flames * (1 + 0.5 * wander(n, rate, 7.0, rng)), -27)
    canvas.add_bed(_crackle(n, rate, rng), -21)
    for onset in scattered(canvas.duration_s, 0.9, rng):
        canvas.add_event("log pop", onset, _pop(rate, rng), 2)
    for onset in scattered(canvas.duration_s, 1.2, rng):
        canvas.add_event("meat hiss", onset, _hiss(rate, rng), -4)
    for onset in scattered(canvas.duration_s, 1.5, rng):
        canvas.add_event("tongs", onset, _tongs(rate, rng), -2)
    first_hz = rng.uniform(3000.0, 3800.0)
    songs = [_song(first_hz * interval, rate, rng) for interval in (1.0, 1.25, 0.8)]
    for onset in scattered(canvas.duration_s, 1.0, rng):
        canvas.add_event("birdsong", onset, songs[rng.integers(3)], -8)


def _crackle(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    size = round(0.012 * rate)
    snaps = [
        band_noise(size, rate, low_hz, 3 * low_hz, rng) * decay(size, rate, 0.006)
        for low_hz in rng.uniform(600.0, 2200.0, 4)
    ]
    return grains(32.0 * (1 + 0.8 * wander(n, rate, 3.0, rng)), rate, snaps, rng)


def _pop(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.12 * rate)
    low_hz = rng.uniform(350.0, 800.0)
    snap = burst(n, rate, [(low_hz / 3, -9.0), (low_hz, 0.0), (6 * low_hz, -9.0)], 0.05, rng)
    return overlay([(0.0, snap), (rng.uniform(0.02, 0.08), 0.4 * snap)], rate)


def _hiss(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.9, 1.4) * rate)
    steam = shaped_noise(n, rate, varied(_HISS, rng), rng)
    steam *= breakpoints(n, [(0.0, 0.1), (0.04, 1.0), (0.25, 0.55), (1.0, 0.15)])
    size = round(0.008 * rate)
    spit = band_noise(size, rate, 2500.0, 6000.0, rng) * decay(size, rate, 0.008)
    return fade(steam + 0.5 * grains(np.full(n, 60.0), rate, [spit], rng), rate, 0.01, 0.3)


def _tongs(rate: int, rng: np.random.Generator) -> FloatArray:
    """The arms click together, then drag over the bars of the grill."""
    arms_hz, bar_hz = rng.uniform(2600.0, 3400.0), rng.uniform(620.0, 900.0)
    n = round(0.25 * rate)
    parts = []
    for click in range(rng.integers(2, 4)):
        parts.append(
            (0.13 * click, struck(n, rate, arms_hz * rng.normal(1.0, 0.02), METAL, 0.2, rng))
        )
    at = 0.13 * len(parts) + 0.05
    for bar in range(rng.integers(3, 7)):
        pitch_hz = bar_hz * rng.normal(1.0, 0.04)
        parts.append((at + 0.05 * bar, 0.6 * struck(n, rate, pitch_hz, METAL, 0.18, rng)))
    return overlay(parts, rate)


def _song(pitch_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    """A songbird's phrase: one or two kinds of syllable, each whistled several times."""
    at, parts = 0.0, []
    for _ in range(rng.integers(1, 3)):
        syllable_s = rng.uniform(0.05, 0.13)
        n = round(syllable_s * rate)
        bends = rng.uniform(0.75, 1.35, 3)
        pitch = (
            pitch_hz
            * rng.uniform(0.9, 1.2)
            * breakpoints(n, [(0.0, bends[0]), (0.5, bends[1]), (1.0, bends[2])])
        )
        whistled = oscillator(pitch, rate, (1.0, 0.06)) * np.hanning(n)
        for _ in range(rng.integers(3, 7)):
            parts.append((at, whistled))
            at += syllable_s + rng.uniform(0.01, 0.03)
    return overlay(parts, rate)
