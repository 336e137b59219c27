"""Video gaming: a stealth shooter on a television, and an arcade hall."""

from __future__ import annotations

import numpy as np

from aor_lib.soundscape.canvas import Canvas, overlay
from aor_lib.soundscape.envelopes import decay, fade, pulses, wander
from aor_lib.soundscape.foley import footstep
from aor_lib.soundscape.impacts import METAL, burst, struck, thump
from aor_lib.soundscape.model import FloatArray
from aor_lib.soundscape.music import chip_tune, pad, semitones
from aor_lib.soundscape.textures import shaped_noise, varied
from aor_lib.soundscape.timing import scattered, steady
from aor_lib.soundscape.tones import beep, glide, oscillator, pulse_partials, rolloff_partials
from aor_lib.soundscape.voices import murmur

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


def arcade_hall(canvas: Canvas) -> None:
    """Machines that play chip tunes, 8-bit lasers, coins and jumps, buttons being mashed."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    for level_db in (-17, -23):
        root_hz = rng.uniform(380.0, 700.0)
        canvas.add_bed(chip_tune(n, rate, root_hz, rng.uniform(5.5, 9.0), rng), level_db)
    canvas.add_bed(murmur(n, rate, 2, rng), -34)
    for onset in scattered(canvas.duration_s, 0.8, rng):
        canvas.add_event("laser", onset, _laser(rate, rng), -9)
    for onset in scattered(canvas.duration_s, 1.6, rng):
        canvas.add_event("coin", onset, _coin(rate, rng), -8)
    for onset in scattered(canvas.duration_s, 1.3, rng):
        canvas.add_event("jump", onset, _jump(rate, rng), -9)
    for onset in scattered(canvas.duration_s, 3.5, rng):
        canvas.add_event("explosion", onset, _eight_bit_explosion(rate, rng), -6)
    button = burst(canvas.length(0.05), rate, varied(_GRAVEL, rng), 0.03, rng)
    for onset in steady(canvas.duration_s, 1.0 / rng.uniform(6.5, 10.0), rng, jitter=0.2):
        canvas.add_event("button press", onset, button, -13)


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


def _laser(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.15, 0.35) * rate)
    sweep = glide(n, rng.uniform(2200.0, 3400.0), rng.uniform(180.0, 400.0))
    zap = oscillator(sweep, rate, pulse_partials(0.25, 8)) * decay(n, rate, 1.0)
    return fade(zap, rate, 0.002, 0.02)


def _coin(rate: int, rng: np.random.Generator) -> FloatArray:
    low_hz = rng.uniform(900.0, 1100.0)
    square = pulse_partials(0.5, 9)
    n_ring = round(0.4 * rate)
    ring = oscillator(np.full(n_ring, low_hz * 4 / 3), rate, square) * decay(n_ring, rate, 0.6)
    return overlay([(0.0, beep(low_hz, 0.08, rate, square)), (0.08, ring)], rate)


def _jump(rate: int, rng: np.random.Generator) -> FloatArray:
    start_hz = rng.uniform(220.0, 350.0)
    n = round(rng.uniform(0.15, 0.25) * rate)
    rise = oscillator(glide(n, start_hz, start_hz * 3.2), rate, pulse_partials(0.125, 16))
    return fade(rise, rate, 0.004, 0.03)


def _eight_bit_explosion(rate: int, rng: np.random.Generator) -> FloatArray:
    # Noise held for a whole number of samples: the rattle of a console's shift register.
    n, hold = round(0.5 * rate), max(1, rate // 3000)
    steps = rng.choice((-1.0, 1.0), n // hold + 1)
    return np.repeat(steps, hold)[:n] * decay(n, rate, 0.9)
