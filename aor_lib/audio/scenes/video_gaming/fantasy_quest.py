"""A fantasy role-playing game that runs on a television."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import breakpoints, decay, fade, wander
from aor_lib.audio.scenes.foley import blade_clash
from aor_lib.audio.scenes.impacts import modal
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.music import pad, semitones
from aor_lib.audio.scenes.textures import band_noise, grains
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import glide, oscillator, rolloff_partials
from aor_lib.audio.scenes.voices import vowel_partials

_DORIAN = (0, 2, 3, 5, 7, 9, 10, 12, 14, 15, 17, 19, 21, 22, 24)


def fantasy_quest(canvas: Canvas) -> None:
    """Harp arpeggios over strings and horns, clashing swords, spells, monsters that growl."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    root_hz = rng.uniform(175.0, 220.0)
    strings = pad(n, rate, semitones(root_hz, [0.0, 7.0, 12.0, 15.0, 19.0]), rng)
    canvas.add_bed(strings * (1 + 0.3 * wander(n, rate, 1.0, rng)), -21)
    _play_harp(canvas, semitones(2 * root_hz, _DORIAN))
    for onset in scattered(canvas.duration_s, 1.1, rng):
        for blow in range(rng.integers(1, 4)):
            at = onset + blow * rng.uniform(0.22, 0.34)
            clash = blade_clash(rng.uniform(1500.0, 2100.0), rate, rng)
            canvas.add_event("sword clash", at, clash, -5)
    for onset in scattered(canvas.duration_s, 1.3, rng):
        canvas.add_event("spell", onset, _spell(rate, rng), 0)
    for onset in scattered(canvas.duration_s, 1.6, rng):
        canvas.add_event("monster growl", onset, _growl(rate, rng), -1)
    canvas.reverberate(1.6, -8.0, 4500.0)


def _play_harp(canvas: Canvas, scale_hz: FloatArray) -> None:
    rng = canvas.rng
    notes = [_pluck(float(pitch_hz), canvas.sample_rate) for pitch_hz in scale_hz]
    pace_s = rng.uniform(0.1, 0.14)
    onset, first = 0.0, int(rng.integers(4))
    while onset < canvas.duration_s:
        # Every other degree of the scale, up and down again: broken chords.
        for degree in (0, 2, 4, 7, 9, 11, 9, 7, 4, 2):
            canvas.add_event("harp note", onset, notes[(first + degree) % len(notes)], -8)
            onset += pace_s * rng.normal(1.0, 0.03)
        first = int(rng.integers(4))


def _pluck(pitch_hz: float, rate: int) -> FloatArray:
    order = np.arange(1, 11, dtype=np.float64)
    # A finger at a third of the string: the third harmonic is missing.
    gains = np.abs(np.sin(np.pi * order / 3.0)) * order**-1.2
    t60s_s = 2.2 * (260.0 / pitch_hz) ** 0.5 * order**-0.9
    string = modal(round(0.8 * rate), rate, pitch_hz * order, t60s_s, gains)
    return fade(string, rate, 0.001, 0.2)


def _spell(rate: int, rng: np.random.Generator) -> FloatArray:
    """A rush of air, a chord that sweeps upwards and a shower of tiny bells."""
    n = round(rng.uniform(0.8, 1.2) * rate)
    swell = breakpoints(n, [(0.0, 0.0), (0.45, 1.0), (0.6, 0.7), (1.0, 0.0)])
    start_hz = rng.uniform(320.0, 480.0)
    sweep = np.zeros(n)
    for interval in (1.0, 1.26, 1.5, 2.0):
        bent = glide(n, start_hz * interval, 4.0 * start_hz * interval)
        vibrato = 1.0 + 0.02 * np.sin(2 * np.pi * 11.0 * np.arange(n) / rate)
        sweep += oscillator(bent * vibrato, rate, (1.0, 0.3, 0.15), rng.uniform())
    bells = [
        oscillator(np.full(size, pitch_hz), rate, (1.0,)) * decay(size, rate, 0.12)
        for size in [round(0.1 * rate)]
        for pitch_hz in rng.uniform(3000.0, 7000.0, 6)
    ]
    shower = grains(60.0 * swell, rate, bells, rng)
    return swell * (sweep + 0.8 * band_noise(n, rate, 1500.0, 6000.0, rng)) + shower


def _growl(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(rng.uniform(0.6, 1.0) * rate)
    pitch_hz = rng.uniform(55.0, 80.0)
    bent = breakpoints(n, [(0.0, 0.8), (0.3, 1.2), (1.0, 0.7)])
    pitch = pitch_hz * bent * (1.0 + 0.12 * wander(n, rate, 40.0, rng))
    throat = oscillator(pitch, rate, vowel_partials(3, pitch_hz, 0.7))
    chest = oscillator(pitch, rate, rolloff_partials(12, 0.8))
    breath = band_noise(n, rate, 250.0, 1400.0, rng)
    flutter = 0.6 + 0.4 * np.sin(2 * np.pi * rng.uniform(22.0, 30.0) * np.arange(n) / rate)
    return fade((throat + 0.4 * chest + 0.5 * breath) * flutter, rate, 0.08, 0.25)
