"""A stealth shooter that runs on a television."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import fade, pulses, wander
from aor_lib.audio.scenes.foley import footstep
from aor_lib.audio.scenes.impacts import METAL, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import pad, semitones
from aor_lib.audio.scenes.textures import shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import beep, oscillator, rolloff_partials

_GRAVEL = [(300, -18.0), (1200, 0.0), (4000, -3.0), (9000, -20.0)]
_WIND = [(100, -10.0), (350, 0.0), (900, -8.0), (4000, -30.0)]
_BLAST = [(60, 0.0), (400, 0.0), (2000, -6.0), (8000, -18.0)]


def stealth_shooter(canvas: Canvas) -> None:
    """Tense pad and ticking bass, footsteps on gravel, suppressed and loud shots, reloads."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    root_hz = rng.uniform(62.0, 88.0)
    chord = semitones(root_hz, [0, 7, 12, rng.choice((13.0, 15.0)), 18.0, 24.0])
    canvas.add_bed(pad(n, rate, chord, rng) * (1 + 0.4 * wander(n, rate, 0.7, rng)), -21)
    tick_hz = np.full(n, rng.uniform(3.2, 4.6))
    bass = oscillator(np.full(n, root_hz), rate, rolloff_partials(10, 1.2))
    canvas.add_bed(bass * pulses(tick_hz, rate, 5.0, rng.uniform()), -23)
    wind = shaped_noise(n, rate, varied(_WIND, rng), rng)
    canvas.add_bed(wind * (1 + 0.6 * wander(n, rate, 0.5, rng)), -31)
    for onset in steady(canvas.duration_s, rng.uniform(0.36, 0.55), rng, jitter=0.08):
        canvas.add_event("footstep", onset, footstep(140.0, _GRAVEL, rate, rng), -7)
    for onset in scattered(canvas.duration_s, 1.5, rng):
        for shot in range(rng.integers(1, 4)):
            at = onset + shot * rng.uniform(0.14, 0.2)
            canvas.add_event("suppressed gunshot", at, _suppressed_shot(rate, rng), -4)
            if rng.uniform() < 0.6:
                canvas.add_event("hit marker", at + 0.09, _hit_marker(rate), -10)
    for onset in scattered(canvas.duration_s, 2.8, rng):
        gap_s = rng.uniform(0.09, 0.13)
        for shot in range(rng.integers(1, 5)):
            canvas.add_event("gunshot", onset + shot * gap_s, _gunshot(rate, rng), 3)
    for onset in scattered(canvas.duration_s, 3.0, rng):
        canvas.add_event("reload", onset, _reload(rate, rng), -7)
    canvas.reverberate(1.2, -10.0, 3000.0)


def _gunshot(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.6 * rate)
    blast = burst(n, rate, varied(_BLAST, rng), 0.25, rng)
    tail = burst(n, rate, varied([(80, 0.0), (500, -3.0), (3000, -24.0)], rng), 0.8, rng)
    return blast + 0.3 * tail + 1.5 * thump(n, rate, 160.0, 50.0, 0.25)


def _suppressed_shot(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.15 * rate)
    puff = burst(n, rate, varied([(300, -15.0), (1500, 0.0), (5000, -12.0)], rng), 0.09, rng)
    action = struck(n, rate, rng.uniform(1700, 2300), METAL, 0.06, rng)
    return fade(puff, rate, 0.002, 0.0) + 0.15 * action


def _hit_marker(rate: int) -> FloatArray:
    tick = beep(2700.0, 0.025, rate)
    return overlay([(0.0, tick), (0.05, tick)], rate)


def _reload(rate: int, rng: np.random.Generator) -> FloatArray:
    at, parts = 0.0, []
    for base_hz in rng.uniform(900.0, 2600.0, 4):
        click = struck(round(0.12 * rate), rate, base_hz, METAL, 0.1, rng)
        parts.append((at, click * rng.uniform(0.5, 1.0)))
        at += rng.uniform(0.1, 0.28)
    return overlay(parts, rate)
