"""Voices without words (screams, shouts, sobs, moans, breathing, coughs), and parts of cries.

They are made of synthesised vowels, or of sentences of the study's own text to speech, with
changes of pitch, effort and breath.
"""

import functools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile
import soxr
from scipy import signal

from aor_lib.audio.scenes.library import TABLES, Count, Pitch, Ratio, Seconds, sound
from aor_lib.audio.scenes.shared import low_pass
from aor_lib.audio.scenes.synth import FloatArray, Points, Synth, curve

SENTENCES = Path(__file__).with_name("voices.flac")
"""Sentences of the study's own text to speech, one in each slot (reference/voice_bank.py)."""
SLOT_S = 3.0
OPEN_HZ = 12_000.0
"""A muffling frequency at which nothing is muffled."""
_FORMANT_GAINS = np.array([1.0, 0.5, 0.2])
_HIGHEST_HZ = 5_000.0
_BREATH = TABLES["spectra"]["breath"]


@dataclass(frozen=True)
class Cry:
    """Parameters of a cry of a person or an animal, on ``vowels`` (letters of "aeiou") in turn.

    ``bend`` is the pitch and ``shape`` the level over the cry. ``tract`` scales the formants: 1 for
    a man and 1.6 or more for a small animal. ``shaky`` varies the pitch at random and ``rough`` the
    level, ``rough_hz`` times a second. ``breath`` adds noise, ``pressed`` is the gain before soft
    clipping, and ``drift`` is the relative standard deviation of the pitch between cries.
    """

    vowels: str
    bend: Points
    shape: Points
    tract: float = 1.0
    bandwidth_hz: float = 200.0
    shaky: float = 0.05
    breath: float = 0.0
    rough: float = 0.0
    rough_hz: float = 200.0
    pressed: float = 1.0
    drift: float = 0.06


CRIES = {name: Cry(**keys) for name, keys in TABLES["cries"].items()}
"""The cries of tables.yaml."""


@functools.cache
def sentences(rate: int) -> tuple[FloatArray, ...]:
    """Sentences at an RMS of 1, without the bass boost of a close microphone."""
    samples, stored_rate = soundfile.read(SENTENCES)
    highpass = signal.butter(2, 200, "highpass", fs=rate, output="sos")
    slots = [np.trim_zeros(slot, "b") for slot in samples.reshape(-1, round(SLOT_S * stored_rate))]
    spoken = [signal.sosfilt(highpass, soxr.resample(slot, stored_rate, rate)) for slot in slots]
    return tuple(x / np.sqrt(np.mean(np.square(x))) for x in spoken)


def backwards(synth: Synth, raised: float) -> FloatArray:
    """A random sentence, reversed, about `raised` times as high and as fast."""
    spoken = sentences(synth.rate)
    reverse = spoken[synth.rng.integers(len(spoken))][::-1]
    ratio = raised * 2.0 ** synth.rng.uniform(-0.2, 0.2)
    at = np.arange(int(reverse.size / ratio)) * ratio
    return np.asarray(np.interp(at, np.arange(reverse.size), reverse))


def muffled(synth: Synth, samples: FloatArray, muffle_hz: float) -> FloatArray:
    """Low-pass filter samples at `muffle_hz`, by 12 dB per octave."""
    if muffle_hz >= 0.45 * synth.rate:
        return samples
    return np.asarray(signal.sosfilt(low_pass(2, muffle_hz, synth.rate), samples))


def formants(synth: Synth, seconds: float, pitch_hz: float, cry: Cry) -> FloatArray:
    """Synthesise a cry from a rich tone and the formants of its vowels, within ±1."""
    n = synth.samples(seconds)
    pitch = pitch_hz * synth.rng.normal(1.0, cry.drift) * curve(n, cry.bend)
    pitch *= 1.0 + 0.02 * synth.wander(n, 6.0)
    pitch *= np.maximum(0.2, 1.0 + cry.shaky * synth.wander(n, 90.0))
    mean_hz = max(float(pitch.mean()), 20.0)
    harmonics = np.arange(1, int(_HIGHEST_HZ / mean_hz) + 1) * mean_hz
    place = np.linspace(0.0, len(cry.vowels) - 1.0, n)
    made = np.zeros(n)
    for index, letter in enumerate(cry.vowels):
        nearness = np.maximum(0.0, 1.0 - np.abs(place - index))
        centres_hz = np.asarray(TABLES["vowels"][letter]) * cry.tract
        distance = (harmonics[:, None] - centres_hz) / cry.bandwidth_hz
        partials = (1.0 / (1.0 + np.square(distance))) @ _FORMANT_GAINS + 0.01
        made += nearness * synth.tone(pitch, n, partials)
    made /= np.max(np.abs(made))
    made += 0.35 * cry.breath * synth.band(n, 700.0 * cry.tract, 2500.0 * cry.tract)
    if cry.rough:
        made *= np.maximum(0.02, 1.0 + cry.rough * synth.wander(n, cry.rough_hz))
    return np.asarray(np.tanh(cry.pressed * made) * curve(n, cry.shape))


@sound
def scream(
    synth: Synth, *, pitch_hz: Pitch = 620, seconds: Seconds = 1.1, muffle_hz: Pitch = OPEN_HZ
) -> FloatArray:
    """A scream at the top of the voice, made rough by fast random changes in level."""
    bend = ((0.0, 0.7), (synth.rng.uniform(0.06, 0.18), 1.0), (0.75, 0.95), (1.0, 0.6))
    cry = formants(synth, seconds, pitch_hz, replace(CRIES["scream"], bend=bend))
    return synth.fade(muffled(synth, cry, min(muffle_hz, 3_000.0)), 0.01, 0.05)


@sound
def shout(
    synth: Synth, *, pitch_hz: Pitch = 380, seconds: Seconds = 0.5, muffle_hz: Pitch = OPEN_HZ
) -> FloatArray:
    """One short shout of exertion or anger, which rises at once and falls."""
    cry = formants(synth, seconds, pitch_hz, CRIES["shout"])
    return synth.fade(muffled(synth, cry, min(muffle_hz, 3_500.0)), 0.005, 0.05)


@sound
def shouting(
    synth: Synth, *, seconds: Seconds = 0.9, raised: Ratio = 1.5, muffle_hz: Pitch = OPEN_HZ
) -> FloatArray:
    """A raised voice whose words are reversed and cannot be understood.

    `raised` multiplies the pitch; frequencies above `muffle_hz` are cut, as by a door or a cloth.
    """
    voice = backwards(synth, raised)
    start = synth.rng.integers(max(1, voice.size - synth.samples(seconds)))
    voice = voice[start : start + synth.samples(seconds)]
    return synth.fade(muffled(synth, np.tanh(1.5 * voice), muffle_hz), 0.02, 0.08)


@sound
def sobs(
    synth: Synth, *, pitch_hz: Pitch = 540, count: Count = 5, muffle_hz: Pitch = OPEN_HZ
) -> FloatArray:
    """Weeping: a wail that breaks into falling jerks, and a breath drawn in, trembling."""
    rng = synth.rng
    at_s, parts = 0.0, []
    for number in range(count):
        seconds = rng.uniform(0.7, 1.3) * (0.8 if number == 0 else 0.38)
        sob = formants(synth, seconds, pitch_hz, CRIES["sob"])
        parts.append((at_s, rng.uniform(0.6, 1.0) * sob))
        at_s += seconds + rng.uniform(0.02, 0.08)
    parts.append((at_s, 0.1 * _air(synth, rng.uniform(0.25, 0.5), tremble=0.5)))
    return synth.fade(muffled(synth, synth.overlay(parts), min(muffle_hz, 4_200.0)), 0.01, 0.05)


@sound
def moan(
    synth: Synth, *, pitch_hz: Pitch = 180, seconds: Seconds = 1.2, muffle_hz: Pitch = OPEN_HZ
) -> FloatArray:
    """A moan or a groan: one falling, hoarse, unsteady vowel."""
    cry = formants(synth, seconds, pitch_hz, CRIES["moan"])
    return synth.fade(muffled(synth, cry, min(muffle_hz, 3_500.0)), 0.02, 0.1)


@sound
def panting(synth: Synth, *, seconds: Seconds = 0.5) -> FloatArray:
    """One breath in and one out, as after running."""
    drawn, let_out = (_air(synth, share * seconds, tremble=0.25) for share in (0.42, 0.5))
    return synth.overlay([(0.0, 0.6 * drawn), (0.5 * seconds, let_out)])


@sound
def cough(synth: Synth, *, pitch_hz: Pitch = 270) -> FloatArray:
    """A cough: a burst of air from the throat, and the voice that ends it."""
    n = synth.samples(0.12)
    burst = synth.noise(n, _BREATH) * curve(n, ((0.0, 0.0), (0.14, 1.0), (1.0, 0.0)))
    voice = formants(synth, 0.12, pitch_hz, CRIES["cough"])
    return synth.fade(synth.overlay([(0.0, 0.4 * burst), (0.085, voice)]), 0.002, 0.04)


def _air(synth: Synth, seconds: float, tremble: float) -> FloatArray:
    n = synth.samples(seconds)
    air = synth.noise(n, _BREATH) * np.hanning(n) ** 0.7
    return air * (1.0 + tremble * synth.wander(n, 24.0))
