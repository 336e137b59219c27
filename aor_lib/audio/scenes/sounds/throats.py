"""What cries and crowds are made of: held vowels, formants, sentences backwards."""

from typing import Literal, TypeAlias

import numpy as np
import pyworld
import soxr
from scipy import signal

from aor_lib.audio.scenes.sounds.bank import FRAME_S, RATE, sentences, vowel
from aor_lib.audio.scenes.synth import FloatArray, Points, Synth, curve

Speaker: TypeAlias = Literal["woman", "man", "child"]
OPEN_HZ = 12_000.0
"""A muffling frequency that muffles nothing."""
_TRACTS: dict[Speaker, float] = {"woman": 1.0, "man": 1.0, "child": 1.25}
_TILT_LIMITS_HZ = (150.0, 3000.0)
_FORMANTS_HZ = {
    "a": (730.0, 1090.0, 2440.0),
    "e": (530.0, 1840.0, 2480.0),
    "i": (300.0, 2200.0, 2950.0),
    "o": (570.0, 840.0, 2410.0),
    "u": (320.0, 870.0, 2240.0),
}
"""Of a man's tract, as in *father*, *bet*, *see*, *law*, *boot*."""
_FORMANT_GAINS = np.array([1.0, 0.5, 0.2])
_BANDWIDTH_HZ = 110.0


def throat(
    synth: Synth,
    pitch_hz: float,
    seconds: float,
    speaker: Speaker,
    bend: Points,
    *,
    tilt_db: float,
    breath: float,
    jitter: float,
    vowel_index: int = 0,
) -> FloatArray:
    """A held vowel of one of the bank's voices with another pitch; its peak is 1.

    ``bend`` is the pitch over the length, ``tilt_db`` an octave the effort, ``breath`` the share of
    voice that becomes noise, ``jitter`` the pitch's deviation from one 5 ms frame to the next. A
    pitch of 0 is breath alone.
    """
    frames = Synth(round(1 / FRAME_S), synth.rng)
    n = max(8, frames.samples(seconds))
    log_envelope, aperiodicity = vowel(speaker != "man", int(synth.rng.integers(3)), vowel_index)
    # To and fro through the vowel's time, at no steady pace, so that it lives and never repeats.
    steps = np.cumsum(synth.rng.uniform(0.0, 0.6, n)) + synth.rng.uniform(0, len(log_envelope))
    last = len(log_envelope) - 1
    place = np.abs((steps.astype(np.int64) % (2 * last)) - last)
    bins = np.arange(log_envelope.shape[1])
    tract = _TRACTS[speaker] * synth.rng.uniform(0.95, 1.1)
    source = np.minimum(bins / tract, bins[-1]).astype(np.int64)
    hz = np.linspace(0, RATE / 2, bins.size).clip(*_TILT_LIMITS_HZ)
    power = np.exp(log_envelope[np.ix_(place, source)]) * 10 ** (tilt_db * np.log2(hz / 1000) / 10)
    noise = aperiodicity[np.ix_(place, source)]
    noise = np.clip(noise + breath * (1 - noise), 0.001, 0.999)
    pitch = pitch_hz * curve(n, bend) * (1 + 0.03 * frames.wander(n, 8.0))
    pitch *= np.maximum(0.5, synth.rng.normal(1.0, jitter, n))
    made = pyworld.synthesize(pitch, power, noise, RATE, 1000 * FRAME_S)
    made = soxr.resample(made, RATE, synth.rate)
    return np.asarray(made / (np.max(np.abs(made)) + 1e-12))


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
    return np.asarray(
        signal.sosfilt(signal.butter(2, muffle_hz, fs=synth.rate, output="sos"), samples)
    )


def formants(
    synth: Synth,
    seconds: float,
    pitch_hz: float,
    vowels: str,
    tract: float,
    bend: Points,
    rough: float,
    air: float,
) -> FloatArray:
    """A cry through vowels (letters of "aeiou") by formants over a saw; its peak is 1.

    ``tract`` is 1 for a man and 1.6 or more for a small animal; ``rough`` shakes the pitch, as a
    bark or a growl does, and ``air`` adds breath.
    """
    n = synth.samples(seconds)
    contour = curve(n, bend)
    pitch = pitch_hz * synth.rng.normal(1.0, 0.04) * contour
    pitch *= np.maximum(0.2, 1.0 + rough * synth.wander(n, 90.0))
    place = np.linspace(0.0, len(vowels) - 1.0, n)
    made = np.zeros(n)
    harmonics = np.arange(1, int(6000.0 / pitch_hz) + 1) * max(float(pitch.mean()), 20.0)
    for index, letter in enumerate(vowels):
        nearness = np.maximum(0.0, 1.0 - np.abs(place - index))
        formants_hz = np.asarray(_FORMANTS_HZ[letter]) * tract
        distance = (harmonics[:, None] - formants_hz) / (_BANDWIDTH_HZ * tract)
        partials = (1.0 / (1.0 + np.square(distance))) @ _FORMANT_GAINS + 0.01
        made += nearness * synth.tone(pitch, n, partials)
    made += air * synth.band(n, 600.0 * tract, 2500.0 * tract) * np.square(contour)
    return np.asarray(made / np.max(np.abs(made)))
