"""A hall of arcade machines."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import decay, fade
from aor_lib.audio.scenes.impacts import burst
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import chip_tune
from aor_lib.audio.scenes.textures import varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.tones import beep, glide, oscillator, pulse_partials
from aor_lib.audio.scenes.voices import murmur

_BUTTON = [(300, -18.0), (1200, 0.0), (4000, -3.0), (9000, -20.0)]


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
    button = burst(canvas.length(0.05), rate, varied(_BUTTON, rng), 0.03, rng)
    for onset in steady(canvas.duration_s, 1.0 / rng.uniform(6.5, 10.0), rng, jitter=0.2):
        canvas.add_event("button press", onset, button, -13)


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
