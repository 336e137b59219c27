"""Building blocks of cries and crowds: formants, and sentences played backwards."""

from typing import NamedTuple

import numpy as np
from scipy import signal

from aor_lib.audio.scenes.sounds.bank import sentences
from aor_lib.audio.scenes.synth import FloatArray, Points, Synth, curve, low_pass

OPEN_HZ = 12_000.0
"""A muffling frequency that muffles nothing."""
_FORMANTS_HZ = {
    "a": (730.0, 1090.0, 2440.0),
    "e": (530.0, 1840.0, 2480.0),
    "i": (300.0, 2200.0, 2950.0),
    "o": (570.0, 840.0, 2410.0),
    "u": (320.0, 870.0, 2240.0),
}
"""Of a man's tract, as in *father*, *bet*, *see*, *law*, *boot*."""
_FORMANT_GAINS = np.array([1.0, 0.5, 0.2])
_HIGHEST_HZ = 5_000.0


class Throat(NamedTuple):
    """A person or an animal that cries, and the manner of the cry.

    ``tract`` is 1 for a man and 1.6 or more for a small animal; ``shaky`` deviates the pitch at
    random, ``rough`` the level, ``rough_hz`` times a second; ``breath`` adds noise, and what is
    ``pressed`` is clipped softly; ``drift`` is the share by which pitches differ from cry to cry.
    """

    tract: float = 1.0
    bandwidth_hz: float = 200.0
    shaky: float = 0.05
    breath: float = 0.0
    rough: float = 0.0
    rough_hz: float = 200.0
    pressed: float = 1.0
    drift: float = 0.06


def backwards(synth: Synth, raised: float) -> FloatArray:
    """A random sentence of the bank backwards, about `raised` times as high and as fast."""
    spoken = sentences(synth.rate)
    reverse = spoken[synth.rng.integers(len(spoken))][::-1]
    ratio = raised * 2.0 ** synth.rng.uniform(-0.2, 0.2)
    at = np.arange(int(reverse.size / ratio)) * ratio
    return np.asarray(np.interp(at, np.arange(reverse.size), reverse))


def muffled(synth: Synth, samples: FloatArray, muffle_hz: float) -> FloatArray:
    """Samples without what lies above a frequency, by 12 dB an octave."""
    if muffle_hz >= 0.45 * synth.rate:
        return samples
    return np.asarray(signal.sosfilt(low_pass(2, muffle_hz, synth.rate), samples))


def formants(
    synth: Synth,
    seconds: float,
    pitch_hz: float,
    vowels: str,
    bend: Points,
    shape: Points,
    throat: Throat,
) -> FloatArray:
    """A cry through vowels (letters of "aeiou") by formants over a rich tone, within ±1.

    `bend` is its pitch and `shape` its level over the length.
    """
    n = synth.samples(seconds)
    pitch = pitch_hz * synth.rng.normal(1.0, throat.drift) * curve(n, bend)
    pitch *= 1.0 + 0.02 * synth.wander(n, 6.0)
    pitch *= np.maximum(0.2, 1.0 + throat.shaky * synth.wander(n, 90.0))
    mean_hz = max(float(pitch.mean()), 20.0)
    harmonics = np.arange(1, int(_HIGHEST_HZ / mean_hz) + 1) * mean_hz
    place = np.linspace(0.0, len(vowels) - 1.0, n)
    made = np.zeros(n)
    for index, letter in enumerate(vowels):
        nearness = np.maximum(0.0, 1.0 - np.abs(place - index))
        distance = (
            harmonics[:, None] - np.asarray(_FORMANTS_HZ[letter]) * throat.tract
        ) / throat.bandwidth_hz
        partials = (1.0 / (1.0 + np.square(distance))) @ _FORMANT_GAINS + 0.01
        made += nearness * synth.tone(pitch, n, partials)
    made /= np.max(np.abs(made))
    made += 0.35 * throat.breath * synth.band(n, 700.0 * throat.tract, 2500.0 * throat.tract)
    if throat.rough:
        made *= np.maximum(0.02, 1.0 + throat.rough * synth.wander(n, throat.rough_hz))
    return np.asarray(np.tanh(throat.pressed * made) * curve(n, shape))
