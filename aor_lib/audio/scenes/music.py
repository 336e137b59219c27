"""Simple instruments: sustained pads, chip tunes and a piano."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aor_lib.audio.scenes.envelopes import fade
from aor_lib.audio.scenes.impacts import modal
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise
from aor_lib.audio.scenes.tones import oscillator, pulse_partials

PENTATONIC = (0, 3, 5, 7, 10, 12, 15, 17)
"""Semitones of a minor pentatonic scale: any random walk on it makes a plausible tune."""


def semitones(root_hz: float, steps: Sequence[float] | FloatArray) -> FloatArray:
    """Frequencies in Hz that lie `steps` equal-tempered semitones above `root_hz`."""
    return root_hz * 2.0 ** (np.asarray(steps, dtype=np.float64) / 12.0)


def pad(
    n_samples: int,
    sample_rate: int,
    notes_hz: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Sustained, slowly beating chord of soft sawtooth waves.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    notes_hz : ndarray of float64, shape (notes,)
        The chord, in Hz.
    rng : numpy.random.Generator
        Draws detuning and balance.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    order = np.arange(1, 7)
    strings = np.concatenate([notes_hz * 0.997, notes_hz * 1.003]) * rng.normal(
        1.0, 0.001, 2 * notes_hz.size
    )
    gains = rng.uniform(0.6, 1.0, (strings.size, 1)) * order**-1.4
    frequencies = np.multiply.outer(strings, order).reshape(-1)
    return modal(
        n_samples, sample_rate, frequencies, np.full(frequencies.size, np.inf), gains.reshape(-1)
    )


def chip_tune(
    n_samples: int,
    sample_rate: int,
    root_hz: float,
    steps_hz: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Looping tune of an early game console: pulse-wave lead, arpeggio, bass and noise drum.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    root_hz : float
        The lead's key note, in Hz.
    steps_hz : float
        Notes a second.
    rng : numpy.random.Generator
        Draws the tune.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    beat = np.arange(n_samples) * (steps_hz / sample_rate) + rng.integers(16)
    step = beat.astype(np.int64)
    within = beat - step
    walk = np.abs(np.cumsum(rng.choice((-2, -1, 1, 2), 16))) % len(PENTATONIC)
    melody = semitones(root_hz, np.asarray(PENTATONIC)[walk])
    played = rng.uniform(size=16) < 0.85
    duty = rng.choice((0.125, 0.25, 0.5))
    lead = oscillator(melody[step % 16], sample_rate, pulse_partials(duty, 20))
    lead *= played[step % 16] * np.exp(-2.0 * within)
    chord = semitones(root_hz, rng.choice((0.0, 5.0, -2.0)) + np.array([0.0, 3.0, 7.0, 12.0]))
    arpeggio = oscillator(chord[(4 * beat).astype(np.int64) % 4], sample_rate, [1, 0, 0.33, 0, 0.2])
    bass_line = semitones(root_hz / 4, rng.choice((0.0, 0.0, 3.0, -2.0, 5.0), 4))
    bass = oscillator(bass_line[step // 4 % 4], sample_rate, [1, 0, -0.11, 0, 0.04])
    hat = band_noise(n_samples, sample_rate, 3000.0, 9000.0, rng) * np.exp(-12.0 * within)
    tune: FloatArray = lead + 0.35 * arpeggio + 0.8 * bass * (1.0 - 0.7 * within) + 0.12 * hat
    return tune


def piano_note(pitch_hz: float, duration_s: float, sample_rate: int) -> FloatArray:
    """One piano note: slightly stretched harmonics, the higher ones fading first.

    Parameters
    ----------
    pitch_hz : float
        In Hz.
    duration_s : float
        Until the damper falls, in seconds.
    sample_rate : int
        In Hz.

    Returns
    -------
    ndarray of float64, shape (round(duration_s * sample_rate),)
    """
    order = np.arange(1.0, 15.0)
    frequencies = pitch_hz * order * np.sqrt(1.0 + 4e-4 * np.square(order))
    # A hammer that strikes at an eighth of the string leaves the eighth harmonic out.
    gains = np.abs(np.sin(np.pi * order / 8.0)) * order**-1.1
    t60s = 5.0 * (220.0 / pitch_hz) ** 0.5 * order**-0.6
    note = modal(round(duration_s * sample_rate), sample_rate, frequencies, t60s, gains)
    return fade(note, sample_rate, 0.002, 0.08)
