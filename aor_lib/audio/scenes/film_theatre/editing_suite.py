"""A film editor's room."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import breakpoints, fade, pulses, wander
from aor_lib.audio.scenes.impacts import WOOD, burst, struck
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import pad, piano_note, semitones
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import steady
from aor_lib.audio.scenes.tones import oscillator

_FANS = [(80, -6.0), (250, 0.0), (900, -10.0), (3000, -22.0), (8000, -36.0)]
_CHORDS = ((0, 4, 7, 12), (-3, 0, 4, 9), (-7, 0, 5, 9), (-5, -1, 2, 7))
_SCORE_S = 4.0


def editing_suite(canvas: Canvas) -> None:
    """Bits of a score played, scrubbed to and fro and rewound; key clicks; computer fans."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_FANS, rng), rng), -30)
    score = _score(rate, rng)
    actions = (_snatch, _scrub, _rewind)
    names = ("score snatch", "scrub", "rewind")
    onset, turn = 0.0, int(rng.integers(3))
    while onset < canvas.duration_s:
        sound = actions[turn % 3](score, rate, rng)
        canvas.add_event(names[turn % 3], onset, sound, -4)
        # A key stops one thing and starts the next.
        stop_s = onset + sound.size / rate
        canvas.add_event("key click", stop_s, _key(rate, rng), -5)
        onset = stop_s + rng.uniform(0.06, 0.2)
        turn += int(rng.integers(1, 3))
    for onset in steady(canvas.duration_s, rng.uniform(0.18, 0.26), rng, jitter=0.4):
        canvas.add_event("key click", onset, _key(rate, rng), -7)
    canvas.reverberate(0.25, -14.0, 5000.0)


def _score(rate: int, rng: np.random.Generator) -> FloatArray:
    """Four chords of an orchestra with a piano's melody on top, four seconds long."""
    root_hz = rng.uniform(196.0, 262.0)
    n_chord = round(_SCORE_S * rate / len(_CHORDS))
    chords = []
    for steps in _CHORDS:
        strings = pad(n_chord, rate, semitones(root_hz, steps), rng)
        melody = np.zeros(n_chord)
        for note, step in enumerate(rng.choice(steps, 4)):
            at = note * n_chord // 4
            tone = piano_note(4.0 * root_hz * 2.0 ** (step / 12.0), 0.25, rate)[: n_chord - at]
            melody[at : at + tone.size] += tone
        chords.append(strings / np.std(strings) + 2.0 * melody / np.std(melody))
    return np.concatenate(chords)


def _snatch(score: FloatArray, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.5, 0.9) * rate)
    start = int(rng.integers(score.size - n))
    return fade(score[start : start + n], rate, 0.004, 0.004)


def _scrub(score: FloatArray, rate: int, rng: np.random.Generator) -> FloatArray:
    """A wheel turned to and fro by hand: the pitch follows the speed, and stops between."""
    n = round(rng.uniform(0.7, 1.1) * rate)
    turns_hz = rng.uniform(2.5, 4.0)
    speed = 2.2 * np.sin(2 * np.pi * turns_hz * np.arange(n) / rate)
    speed *= 1.0 + 0.5 * wander(n, rate, 5.0, rng)
    return fade(_played(score, speed, rate, rng) * np.abs(speed), rate, 0.01, 0.01)


def _rewind(score: FloatArray, rate: int, rng: np.random.Generator) -> FloatArray:
    """Backwards at several times the speed, over the flutter of the spools."""
    n = round(rng.uniform(0.6, 1.1) * rate)
    speed = -breakpoints(n, [(0.0, 1.5), (0.5, rng.uniform(6.0, 8.0)), (0.9, 7.0), (1.0, 1.0)])
    chatter = _played(score, speed, rate, rng)
    flutter = band_noise(n, rate, 1200.0, 5000.0, rng) * pulses(-9.0 * speed, rate, 3.0, 0.0)
    spools = oscillator(-95.0 * speed, rate, (1.0, 0.5, 0.3))
    return fade(chatter + 1.2 * flutter + 0.5 * spools, rate, 0.02, 0.02)


def _played(
    score: FloatArray, speed: FloatArray, rate: int, rng: np.random.Generator
) -> FloatArray:
    # Linear interpolation: its images lie far below what is read at several times the speed.
    position = (rng.uniform(0.0, score.size) + np.cumsum(speed)) % score.size
    played: FloatArray = np.interp(position, np.arange(score.size), score)
    return played


def _key(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.06 * rate)
    click = burst(n, rate, [(700, -14.0), (2800, 0.0), (8000, -8.0)], 0.015, rng)
    cap = struck(n, rate, rng.uniform(420.0, 620.0), WOOD, 0.04, rng)
    release = round(rng.uniform(0.03, 0.045) * rate)
    up: FloatArray = np.concatenate([np.zeros(release), click[: n - release]])
    return click + 0.5 * cap + 0.4 * up
