"""Throats and hands without language: murmur, chants, cries of people and animals, applause."""

import math
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, cycle

_VOWELS = {
    "a": (730.0, 1090.0, 2440.0),
    "e": (530.0, 1840.0, 2480.0),
    "i": (300.0, 2200.0, 2950.0),
    "o": (570.0, 840.0, 2410.0),
    "u": (320.0, 870.0, 2240.0),
}
"""Formants as in *father*, *bet*, *see*, *law*, *boot*, in Hz."""
Vowels: TypeAlias = Annotated[str, Field(pattern="^[aeiou]+$")]
Tract: TypeAlias = Annotated[float, Field(ge=0.3, le=3)]
_FORMANT_GAINS = np.array([1.0, 0.5, 0.2])
_BANDWIDTH_HZ = 110.0
_CYCLE_SIZE = 1024  # a power of two, so that a bit mask wraps the position


@sound
def murmur(synth: Synth, *, seconds: library.Seconds, talkers: library.Count = 3) -> FloatArray:
    """Babble of several talkers, each a stream of random vowels that never forms a word."""
    n = synth.samples(seconds)
    crowd = np.zeros(n)
    for talker in range(talkers):
        female = talker % 2
        pitch_hz = synth.rng.uniform(165, 240) if female else synth.rng.uniform(90, 140)
        tract = 1.15 if female else 1.0
        cycles = np.stack([cycle(_partials(v, pitch_hz, tract), _CYCLE_SIZE) for v in _VOWELS])
        pace_hz = synth.rng.uniform(3.5, 5.5)
        beat = synth.phase(pace_hz, n, synth.rng.uniform())
        syllable = beat.astype(np.int64)
        vowels = synth.rng.integers(len(_VOWELS), size=syllable[-1] + 1)
        stress = synth.rng.uniform(0.2, 1.0, vowels.size)
        stress *= synth.rng.uniform(size=vowels.size) < 0.85
        pitch = pitch_hz * (1.0 + 0.12 * synth.wander(n, pace_hz / 2))
        phase = synth.phase(pitch, n, synth.rng.uniform())
        position = (phase * _CYCLE_SIZE).astype(np.int64) & (_CYCLE_SIZE - 1)
        envelope = np.sin(np.pi * (beat - syllable)) * stress[syllable]
        crowd += cycles[vowels[syllable], position] * envelope
    return crowd


@sound
def chant(synth: Synth, *, seconds: library.Seconds, pitch_hz: library.Pitch) -> FloatArray:
    """Many voices holding one open vowel, not quite together and not quite in tune."""
    n = synth.samples(seconds)
    choir = np.zeros(n)
    for voice in range(8):
        sung_hz = pitch_hz * (1 + voice % 2) * synth.rng.normal(1.0, 0.02)
        pitch = sung_hz * (1.0 + 0.015 * synth.wander(n, 6.0))
        choir += synth.tone(pitch, n, _partials("o", sung_hz, 1.0))
    return choir * curve(n, ((0.0, 0.0), (0.12, 1.0), (0.6, 0.7), (1.0, 0.0)))


@sound
def cry(
    synth: Synth,
    *,
    seconds: library.Seconds,
    pitch_hz: library.Pitch,
    vowels: Vowels = "a",
    tract: Tract = 1.0,
    bend: library.Curve = library.FLAT,
    rough: library.Ratio = 0,
    air: library.Gain = 0.1,
) -> FloatArray:
    """One throat's cry that moves through vowels (letters of "aeiou"), of a person or an animal.

    `tract` is 1 for a man and 1.6 or more for a small animal; `rough` shakes the pitch, as a bark
    or a growl does, and `air` adds breath.
    """
    n = synth.samples(seconds)
    contour = curve(n, bend)
    pitch = pitch_hz * synth.rng.normal(1.0, 0.04) * contour
    pitch *= np.maximum(0.2, 1.0 + rough * synth.wander(n, 90.0))
    place = np.linspace(0.0, len(vowels) - 1.0, n)
    made = np.zeros(n)
    for index, vowel in enumerate(vowels):
        nearness = np.maximum(0.0, 1.0 - np.abs(place - index))
        made += nearness * synth.tone(
            pitch, n, _partials(vowel, max(float(pitch.mean()), 20.0), tract)
        )
    made += air * synth.band(n, 600.0 * tract, 2500.0 * tract) * np.square(contour)
    return synth.fade(made, 0.03, min(0.15, 0.4 * seconds))


@sound
def muffled_shout(
    synth: Synth,
    *,
    seconds: library.Seconds,
    pitch_hz: library.Pitch,
    tract: Tract = 1.0,
    syllables_hz: library.Rate = 4,
    muffle_hz: library.Pitch = 600,
) -> FloatArray:
    """A voice behind a door, a lid or a cloth: its tune and its syllables, and never a word.

    The door, lid or cloth takes away what lies above `muffle_hz`, by 12 dB an octave.
    """
    n = synth.samples(seconds)
    beat = synth.phase(syllables_hz, n)
    syllable = beat.astype(np.int64)
    pitch = pitch_hz * (1.0 + 0.2 * synth.wander(n, max(syllables_hz, 1.0)))
    vowels = synth.rng.integers(len(_VOWELS), size=syllable[-1] + 1)
    stress = synth.rng.uniform(0.5, 1.0, vowels.size)
    phase = synth.phase(pitch, n, synth.rng.uniform())
    position = (phase * _CYCLE_SIZE).astype(np.int64) & (_CYCLE_SIZE - 1)
    partials = [_partials(vowel, pitch_hz, tract, muffle_hz) for vowel in _VOWELS]
    voiced = np.stack([cycle(p, _CYCLE_SIZE) for p in partials])[vowels[syllable], position]
    opening = np.sqrt(np.sin(np.pi * (beat - syllable))) * stress[syllable]
    return synth.fade(voiced * opening, 0.02, min(0.1, 0.3 * seconds))


@sound
def sobs(
    synth: Synth,
    *,
    seconds: library.Seconds,
    pitch_hz: library.Pitch,
    tract: Tract = 1.0,
    sobs_hz: library.Rate = 4,
    muffle_hz: library.Pitch = 4000,
    air: library.Gain = 0.15,
) -> FloatArray:
    """Weeping: a breath let out in short, falling, voiced jerks, and one drawn in, trembling."""
    n_out, n_in = synth.samples(0.7 * seconds), synth.samples(0.3 * seconds)
    beat = synth.phase(sobs_hz, n_out)
    within = beat - np.floor(beat)
    pitch = pitch_hz * curve(n_out, ((0.0, 1.15), (1.0, 0.8))) * (1.1 - 0.25 * within)
    pitch *= 1.0 + 0.03 * synth.wander(n_out, 30.0)
    voiced = synth.tone(pitch, n_out, _partials("a", 0.95 * pitch_hz, tract, muffle_hz))
    voiced /= np.max(np.abs(voiced))
    low_hz, high_hz = 500.0 * tract, min(2500.0 * tract, max(muffle_hz, 900.0 * tract))
    jerks = np.sin(np.pi * np.sqrt(within)) * curve(n_out, ((0.0, 1.0), (1.0, 0.5)))
    out = (voiced + air * synth.band(n_out, low_hz, high_hz)) * jerks
    gasp = synth.band(n_in, 1.4 * low_hz, 1.4 * high_hz) * np.hanning(n_in)
    gasp *= 1.0 + 0.5 * synth.wander(n_in, 14.0)
    return synth.fade(np.concatenate([out, 1.5 * air * gasp]), 0.02, 0.05)


@sound
def applause(synth: Synth, *, seconds: library.Seconds, claps_per_s: library.Rate) -> FloatArray:
    """Clapping hands: a few pairs, a hall, or all at once within a few hundredths of a second."""
    n, size = synth.samples(seconds), synth.samples(0.04)
    hands = []
    for centre_hz in synth.rng.uniform(900.0, 1800.0, 4):
        hands.append(synth.band(size, 0.8 * centre_hz, 1.8 * centre_hz) * synth.decay(size, 0.035))
    claps = synth.cloud(np.full(n, claps_per_s + 1e-9), hands)
    return synth.fade(claps, 0.1 * seconds, 0.2 * seconds)


def _partials(vowel: str, pitch_hz: float, tract: float, muffle_hz: float = math.inf) -> FloatArray:
    harmonics = np.arange(1, int(4000.0 / pitch_hz) + 1) * pitch_hz
    distance = (harmonics[:, None] - np.asarray(_VOWELS[vowel]) * tract) / _BANDWIDTH_HZ
    partials = (1.0 / (1.0 + np.square(distance))) @ _FORMANT_GAINS + 0.01
    return np.asarray(partials / (1.0 + np.square(harmonics / muffle_hz)))
