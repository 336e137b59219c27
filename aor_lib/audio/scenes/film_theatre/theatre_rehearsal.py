"""A rehearsal in a large, empty theatre."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import fade
from aor_lib.audio.scenes.foley import footstep
from aor_lib.audio.scenes.impacts import WOOD, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import piano_note, semitones
from aor_lib.audio.scenes.textures import shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered, steady
from aor_lib.audio.scenes.voices import applause

_BOARDS = [(80, -6.0), (300, 0.0), (1200, -15.0), (5000, -40.0)]
_MAJOR = (0, 2, 4, 5, 7, 9, 11, 12, 14, 16)


def theatre_rehearsal(canvas: Canvas) -> None:
    """Large reverberant hall: piano phrases, steps on boards, a few people clapping."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    room = varied([(60, 0.0), (250, -8.0), (1000, -22.0), (6000, -45.0)], rng)
    canvas.add_bed(shaped_noise(n, rate, room, rng), -38)
    _play_piano(canvas)
    for onset in steady(canvas.duration_s, rng.uniform(0.5, 0.8), rng, jitter=0.12):
        canvas.add_event("step on boards", onset, _board_step(rate, rng), -8)
    for onset in scattered(canvas.duration_s, 3.2, rng):
        density = np.full(canvas.length(rng.uniform(0.8, 1.6)), rng.uniform(12.0, 25.0))
        claps = fade(applause(density, rate, rng), rate, 0.2, 0.4)
        canvas.add_event("applause", onset, claps, -9)
    canvas.reverberate(rng.uniform(2.0, 2.8), -3.0, 3500.0)


def _play_piano(canvas: Canvas) -> None:
    rng = canvas.rng
    scale = semitones(rng.uniform(196.0, 294.0), _MAJOR)
    pace_s = rng.uniform(0.2, 0.34)
    onset, degree = -pace_s * rng.uniform(), int(rng.integers(len(scale)))
    notes = [piano_note(float(pitch), 1.4, canvas.sample_rate) for pitch in scale]
    bass = [piano_note(float(pitch) / 2, 2.2, canvas.sample_rate) for pitch in scale[:7]]
    while onset < canvas.duration_s:
        for position in range(rng.integers(5, 9)):
            degree = int(np.clip(degree + rng.choice((-2, -1, 1, 2)), 0, len(scale) - 1))
            canvas.add_event("piano note", onset, notes[degree], -6)
            if position % 4 == 0:
                canvas.add_event("piano chord", onset, _triad(bass, degree), -7)
            onset += pace_s * rng.choice((1.0, 1.0, 1.0, 2.0)) * rng.normal(1.0, 0.03)
        onset += rng.uniform(0.1, 0.4)


def _triad(notes: list[FloatArray], degree: int) -> FloatArray:
    root = degree % 3
    return notes[root] + 0.8 * notes[root + 2] + 0.8 * notes[root + 4]


def _board_step(rate: int, rng: np.random.Generator) -> FloatArray:
    step = footstep(95.0, _BOARDS, rate, rng)
    return step + 0.6 * struck(step.size, rate, rng.uniform(170.0, 230.0), WOOD, 0.2, rng)
