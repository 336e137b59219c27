"""Human crowds without language: murmur, chanting on open vowels, applause."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aor_lib.audio.scenes.envelopes import decay, wander
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains
from aor_lib.audio.scenes.tones import cycle, oscillator

_VOWELS = np.array(
    [[730, 1090, 2440], [530, 1840, 2480], [300, 2200, 2950], [570, 840, 2410], [320, 870, 2240]],
    dtype=np.float64,
)
_FORMANT_GAINS = np.array([1.0, 0.5, 0.2])
_BANDWIDTH_HZ = 110.0
_CYCLE_SIZE = 1024  # a power of two, so that a bit mask wraps the position


def vowel_partials(vowel: int, pitch_hz: float, tract: float = 1.0) -> FloatArray:
    """Amplitudes of the harmonics of a sung or spoken vowel.

    Parameters
    ----------
    vowel : int
        0 to 4: as in *father*, *bet*, *see*, *law*, *boot*.
    pitch_hz : float
        Fundamental frequency in Hz.
    tract : float, default 1
        Scales the formants: above 1 for a shorter vocal tract.

    Returns
    -------
    ndarray of float64, shape (partials,)
        Harmonics up to 4 kHz.
    """
    harmonics = np.arange(1, int(4000.0 / pitch_hz) + 1) * pitch_hz
    distance = (harmonics[:, None] - _VOWELS[vowel] * tract) / _BANDWIDTH_HZ
    return np.asarray((1.0 / (1.0 + np.square(distance))) @ _FORMANT_GAINS + 0.01)


def murmur(
    n_samples: int, sample_rate: int, n_talkers: int, rng: np.random.Generator
) -> FloatArray:
    """Babble of several talkers, each a stream of random vowels that never forms a word.

    Parameters
    ----------
    n_samples : int
        Length of the sound.
    sample_rate : int
        In Hz.
    n_talkers : int
        How many voices; each is drawn as male or female.
    rng : numpy.random.Generator
        Draws pitches, syllable rates, vowels and pauses.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
    """
    crowd = np.zeros(n_samples)
    for _ in range(n_talkers):
        female = rng.uniform() < 0.5
        pitch_hz = rng.uniform(165, 240) if female else rng.uniform(90, 140)
        tract = 1.15 if female else 1.0
        cycles = np.stack(
            [
                cycle(vowel_partials(vowel, pitch_hz, tract), _CYCLE_SIZE)
                for vowel in range(len(_VOWELS))
            ]
        )
        pace_hz = rng.uniform(3.5, 5.5)
        beat = np.arange(n_samples) * (pace_hz / sample_rate) + rng.uniform()
        syllable = beat.astype(np.int64)
        n_syllables = int(syllable[-1]) + 1
        vowels = rng.integers(len(_VOWELS), size=n_syllables)
        stress = rng.uniform(0.2, 1.0, n_syllables) * (rng.uniform(size=n_syllables) < 0.85)
        inflection = 1.0 + 0.12 * wander(n_samples, sample_rate, pace_hz / 2, rng)
        phase = np.cumsum(inflection) * (pitch_hz / sample_rate) + rng.uniform()
        position = (phase * _CYCLE_SIZE).astype(np.int64) & (_CYCLE_SIZE - 1)
        envelope = np.sin(np.pi * (beat - syllable)) * stress[syllable]
        crowd += cycles[vowels[syllable], position] * envelope
    return crowd


def chant(
    pitch_hz: float, duration_s: float, vowel: int, sample_rate: int, rng: np.random.Generator
) -> FloatArray:
    """Many voices holding one vowel, not quite together and not quite in tune.

    Parameters
    ----------
    pitch_hz : float
        Fundamental frequency in Hz; half of the voices sing an octave above it.
    duration_s : float
        In seconds.
    vowel : int
        As in :func:`vowel_partials`.
    sample_rate : int
        In Hz.
    rng : numpy.random.Generator
        Draws the voices.

    Returns
    -------
    ndarray of float64, shape (round(duration_s * sample_rate),)
    """
    n_samples = round(duration_s * sample_rate)
    choir = np.zeros(n_samples)
    for voice in range(8):
        sung_hz = pitch_hz * (1 + voice % 2) * rng.normal(1.0, 0.02)
        frequency = sung_hz * (1.0 + 0.015 * wander(n_samples, sample_rate, 6.0, rng))
        choir += oscillator(frequency, sample_rate, vowel_partials(vowel, sung_hz), rng.uniform())
    rising = np.minimum(1.0, np.arange(n_samples) / (0.12 * n_samples))
    choir *= rising * np.cos(np.linspace(0.0, np.pi / 2, n_samples))
    return choir


def applause(claps_hz: FloatArray, sample_rate: int, rng: np.random.Generator) -> FloatArray:
    """Clapping hands at a density that may change over time.

    Parameters
    ----------
    claps_hz : ndarray of float64, shape (samples,)
        Expected claps a second, over time.
    sample_rate : int
        In Hz.
    rng : numpy.random.Generator
        Draws hands and times.

    Returns
    -------
    ndarray of float64, shape (samples,)
    """
    return grains(claps_hz, sample_rate, [hand_clap(sample_rate, rng) for _ in range(4)], rng)


def hand_clap(sample_rate: int, rng: np.random.Generator) -> FloatArray:
    """One clap of one pair of hands.

    Returns
    -------
    ndarray of float64, shape (round(0.04 * sample_rate),)
    """
    n_samples = round(0.04 * sample_rate)
    centre_hz = rng.uniform(900.0, 1800.0)
    noise = band_noise(n_samples, sample_rate, centre_hz * 0.8, centre_hz * 1.8, rng)
    return noise * decay(n_samples, sample_rate, 0.035)


def cry(pitch_hz: FloatArray, vowels: Sequence[int], tract: float, sample_rate: int) -> FloatArray:
    """One throat's cry without words, of a person or of an animal, that moves through vowels.

    Parameters
    ----------
    pitch_hz : ndarray of float64, shape (samples,)
        Fundamental frequency over time, in Hz; formants are exact at its mean.
    vowels : sequence of int
        As in :func:`vowel_partials`; the sound moves evenly from the first to the last.
    tract : float
        Scales the formants: 1 for a man, 2 or more for a small animal.
    sample_rate : int
        In Hz.

    Returns
    -------
    ndarray of float64, shape (samples,)
    """
    mean_hz = float(np.mean(pitch_hz))
    place = np.linspace(0.0, len(vowels) - 1.0, pitch_hz.size)
    sound = np.zeros(pitch_hz.size)
    for index, vowel in enumerate(vowels):
        nearness = np.maximum(0.0, 1.0 - np.abs(place - index))
        partials = vowel_partials(vowel, mean_hz, tract)
        sound += nearness * oscillator(pitch_hz, sample_rate, partials)
    return sound
