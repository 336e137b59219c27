"""Cooking at home."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas, overlay
from aor_lib.audio.scenes.envelopes import decay, wander
from aor_lib.audio.scenes.impacts import WOOD, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import beep, glide, oscillator

_TAP = [(150, -22.0), (500, -10.0), (1500, -3.0), (3500, 0.0), (9000, -10.0)]


def home_kitchen(canvas: Canvas) -> None:
    """Knife on a board, a kettle coming to the boil, a running tap, a timer that beeps."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    tap = shaped_noise(n, rate, varied(_TAP, rng), rng) * (1 + 0.25 * wander(n, rate, 5.0, rng))
    canvas.add_bed(tap + 0.5 * _gurgle(n, rate, rng), -25)
    boil = band_noise(n, rate, 250.0, 700.0, rng) * (1 + 0.6 * wander(n, rate, 14.0, rng))
    canvas.add_bed(boil, -27)
    canvas.add_bed(_kettle_whistle(n, rate, rng), -27)
    board_hz = rng.uniform(300.0, 450.0)
    for onset in scattered(canvas.duration_s, 1.5, rng):
        pace_s = rng.uniform(0.13, 0.24)
        for chop in range(rng.integers(4, 9)):
            at = onset + pace_s * (chop + rng.uniform(-0.06, 0.06))
            canvas.add_event("knife chop", at, _chop(board_hz, rate, rng), -1)
    timer_hz = rng.uniform(2000.0, 2900.0)
    for onset in scattered(canvas.duration_s, 3.0, rng):
        pip = beep(timer_hz, 0.09, rate, (1.0, 0.0, 0.3))
        canvas.add_event("timer", onset, overlay([(i * 0.14, pip) for i in range(4)], rate), -12)
    canvas.reverberate(0.35, -12.0, 5000.0)


def _gurgle(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    drops = [_drop(start_hz, rate) for start_hz in rng.uniform(350.0, 1100.0, 4)]
    return grains(np.full(n, 45.0), rate, drops, rng)


def _drop(start_hz: float, rate: int) -> FloatArray:
    # A bubble's pitch rises while it closes.
    n = round(0.05 * rate)
    return oscillator(glide(n, start_hz, 1.6 * start_hz), rate, (1.0,)) * decay(n, rate, 0.06)


def _kettle_whistle(n: int, rate: int, rng: np.random.Generator) -> FloatArray:
    pressure = wander(n, rate, 0.8, rng)
    pitch = rng.uniform(1700.0, 2300.0) * (1.0 + 0.04 * pressure)
    pitch *= 1.0 + 0.004 * wander(n, rate, 60.0, rng)
    steam = band_noise(n, rate, 2500.0, 5000.0, rng)
    return (oscillator(pitch, rate, (1.0, 0.25, 0.1)) + 0.2 * steam) * (1.0 + 0.5 * pressure)


def _chop(board_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.12 * rate)
    board = struck(n, rate, board_hz * rng.normal(1.0, 0.04), WOOD, 0.1, rng)
    blade = burst(n, rate, [(800, -18.0), (3000, 0.0), (8000, -6.0)], 0.025, rng)
    return board + 0.5 * blade + 0.8 * thump(n, rate, 260.0, 130.0, 0.07)
