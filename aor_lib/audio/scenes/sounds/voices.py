"""Throats without words: screams, shouts, sobs, moans, breathing, coughs.

They are vowels and sentences of the study's own text to speech, with another pitch, effort and
breath.
"""

import numpy as np

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import sound
from aor_lib.audio.scenes.sounds.throats import (
    OPEN_HZ,
    Speaker,
    backwards,
    formants,
    muffled,
    throat,
)
from aor_lib.audio.scenes.synth import FloatArray, Points, Synth, curve


@sound
def scream(
    synth: Synth,
    *,
    pitch_hz: library.Pitch = 800,
    seconds: library.Seconds = 1.0,
    muffle_hz: library.Pitch = OPEN_HZ,
) -> FloatArray:
    """A scream at the top of the voice, rough by fast random changes of its level.

    Roughness of 30 to 150 Hz is what makes a scream one (Arnal et al., 2015, Current Biology
    25(15), 2051-2056).
    """
    bend = ((0.0, 0.7), (synth.rng.uniform(0.06, 0.2), 1.0), (0.75, 0.95), (1.0, 0.6))
    cry = formants(synth, seconds, pitch_hz, "a", 1.35, bend, rough=0.02, air=0.4)
    cry *= np.maximum(0.05, 1.0 + 0.7 * synth.wander(cry.size, 240.0))
    shape = ((0.0, 0.0), (0.06, 1.0), (0.8, 0.85), (1.0, 0.0))
    return synth.fade(muffled(synth, cry * curve(cry.size, shape), muffle_hz), 0.01, 0.05)


@sound
def shout(
    synth: Synth,
    *,
    pitch_hz: library.Pitch = 330,
    seconds: library.Seconds = 0.45,
    speaker: Speaker = "man",
    muffle_hz: library.Pitch = OPEN_HZ,
) -> FloatArray:
    """One short shout, as of exertion or of anger, that rises at once and falls."""
    bend = ((0.0, 0.7), (0.2, 1.0), (0.6, 0.92), (1.0, 0.6))
    cry = throat(synth, pitch_hz, seconds, speaker, bend, tilt_db=4.0, breath=0.15, jitter=0.015)
    rough = np.maximum(0.2, 1.0 + 0.4 * synth.wander(cry.size, 160.0))
    shaped = np.tanh(2.0 * rough * cry) * curve(
        cry.size, ((0.0, 0.0), (0.12, 1.0), (0.6, 0.8), (1.0, 0.0))
    )
    return synth.fade(muffled(synth, shaped, muffle_hz), 0.005, 0.05)


@sound
def shouting(
    synth: Synth,
    *,
    seconds: library.Seconds = 0.9,
    raised: library.Ratio = 1.5,
    muffle_hz: library.Pitch = OPEN_HZ,
) -> FloatArray:
    """A raised voice whose words are backwards and cannot be understood.

    `raised` multiplies its pitch; a door, a lid or a cloth takes away what lies above `muffle_hz`.
    """
    voice = backwards(synth, raised)
    start = synth.rng.integers(max(1, voice.size - synth.samples(seconds)))
    voice = voice[start : start + synth.samples(seconds)]
    pressed = np.tanh(1.5 * voice)
    return synth.fade(muffled(synth, pressed, muffle_hz), 0.02, 0.08)


@sound
def sobs(
    synth: Synth,
    *,
    pitch_hz: library.Pitch = 400,
    sobs: library.Count = 4,
    speaker: Speaker = "woman",
    muffle_hz: library.Pitch = OPEN_HZ,
) -> FloatArray:
    """Weeping: a wail that breaks into falling jerks, and a breath drawn in, trembling."""
    rng = synth.rng
    at_s, parts = 0.0, []

    def add(seconds: float, bend: Points, level: float) -> float:
        wail = throat(
            synth, pitch_hz, seconds, speaker, bend, tilt_db=1.5, breath=0.15, jitter=0.006
        )
        shape = ((0.0, 0.0), (0.12, 1.0), (0.5, 0.75), (1.0, 0.0))
        parts.append((at_s, level * wail * curve(wail.size, shape)))
        return seconds

    at_s += add(rng.uniform(0.5, 1.0), ((0.0, 0.95), (0.2, 1.12), (1.0, 0.85)), 1.0)
    for number in range(sobs):
        high = 1.1 - 0.05 * number + rng.normal(0.0, 0.04)
        fall = ((0.0, 0.92 * high), (0.15, high), (1.0, 0.74))
        at_s += add(rng.uniform(0.16, 0.42), fall, rng.uniform(0.5, 1.0)) + rng.uniform(0.03, 0.12)
    parts.append((at_s, 0.5 * _air(synth, rng.uniform(0.25, 0.45), speaker, tremble=0.5)))
    return synth.fade(muffled(synth, synth.overlay(parts), muffle_hz), 0.01, 0.05)


@sound
def moan(
    synth: Synth,
    *,
    pitch_hz: library.Pitch = 180,
    seconds: library.Seconds = 1.0,
    speaker: Speaker = "man",
    muffle_hz: library.Pitch = OPEN_HZ,
) -> FloatArray:
    """A moan, a groan or, high and short, a whimper: one falling, breathy, unsteady vowel."""
    bend = ((0.0, 0.9), (0.25, 1.1), (0.6, 0.95), (1.0, 0.7))
    cry = throat(synth, pitch_hz, seconds, speaker, bend, tilt_db=-1.0, breath=0.3, jitter=0.012)
    cry *= 1.0 + 0.3 * synth.wander(cry.size, 30.0)
    shaped = cry * curve(cry.size, ((0.0, 0.0), (0.2, 1.0), (0.6, 0.7), (1.0, 0.0)))
    return synth.fade(muffled(synth, shaped, muffle_hz), 0.02, 0.1)


@sound
def panting(
    synth: Synth, *, seconds: library.Seconds = 0.5, speaker: Speaker = "man"
) -> FloatArray:
    """One breath in and one out, as after running."""
    drawn, let_out = (_air(synth, share * seconds, speaker, tremble=0.25) for share in (0.42, 0.5))
    return synth.overlay([(0.0, 0.6 * drawn), (0.5 * seconds, let_out)])


@sound
def cough(synth: Synth, *, pitch_hz: library.Pitch = 170, speaker: Speaker = "man") -> FloatArray:
    """A cough: air that bursts out of the throat, and the voice that closes it."""
    n = synth.samples(0.22)
    burst = _air(synth, 0.22, speaker, tremble=0.6)[:n]
    burst *= curve(burst.size, ((0.0, 0.0), (0.04, 1.0), (0.3, 0.5), (1.0, 0.0)))
    bend = ((0.0, 1.1), (0.4, 1.2), (1.0, 0.75))
    voice = throat(synth, pitch_hz, 0.2, speaker, bend, tilt_db=2.0, breath=0.5, jitter=0.04)
    voice *= np.hanning(voice.size) * np.maximum(0.1, 1.0 + 0.6 * synth.wander(voice.size, 140.0))
    hiss = synth.noise(n, ((400, -14), (1200, -2), (2500, 0), (6000, -8), (10000, -18)))
    hiss *= synth.decay(n, 0.3)
    return synth.fade(synth.overlay([(0, 2 * burst), (0, 0.25 * hiss), (0.05, voice)]), 0.002, 0.05)


def _air(synth: Synth, seconds: float, speaker: Speaker, tremble: float) -> FloatArray:
    still = ((0.0, 1.0),)
    air = throat(synth, 0.0, seconds, speaker, still, tilt_db=3.0, breath=1.0, jitter=0.0)
    air *= np.hanning(air.size) ** 0.7 * (1.0 + tremble * synth.wander(air.size, 24.0))
    return np.asarray(air / np.max(np.abs(air)))
