"""Throats without words: screams, shouts, sobs, moans, breathing, coughs.

They are vowels and sentences of the study's own text to speech, with another pitch, effort and
breath.
"""

from dataclasses import replace

import numpy as np

from aor_lib.audio.scenes.library import TABLES, Count, Pitch, Ratio, Seconds, sound
from aor_lib.audio.scenes.sounds.throats import CRIES, OPEN_HZ, backwards, formants, muffled
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve

_BREATH = TABLES["spectra"]["breath"]


@sound
def scream(
    synth: Synth, *, pitch_hz: Pitch = 620, seconds: Seconds = 1.1, muffle_hz: Pitch = OPEN_HZ
) -> FloatArray:
    """A scream at the top of the voice, rough by fast random changes of its level."""
    bend = ((0.0, 0.7), (synth.rng.uniform(0.06, 0.18), 1.0), (0.75, 0.95), (1.0, 0.6))
    cry = formants(synth, seconds, pitch_hz, replace(CRIES["scream"], bend=bend))
    return synth.fade(muffled(synth, cry, min(muffle_hz, 3_000.0)), 0.01, 0.05)


@sound
def shout(
    synth: Synth, *, pitch_hz: Pitch = 380, seconds: Seconds = 0.5, muffle_hz: Pitch = OPEN_HZ
) -> FloatArray:
    """One short shout, as of exertion or of anger, that rises at once and falls."""
    cry = formants(synth, seconds, pitch_hz, CRIES["shout"])
    return synth.fade(muffled(synth, cry, min(muffle_hz, 3_500.0)), 0.005, 0.05)


@sound
def shouting(
    synth: Synth, *, seconds: Seconds = 0.9, raised: Ratio = 1.5, muffle_hz: Pitch = OPEN_HZ
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
    """A cough: air that bursts out of the throat, and the voice that closes it."""
    n = synth.samples(0.12)
    burst = synth.noise(n, _BREATH) * curve(n, ((0.0, 0.0), (0.14, 1.0), (1.0, 0.0)))
    voice = formants(synth, 0.12, pitch_hz, CRIES["cough"])
    return synth.fade(synth.overlay([(0.0, 0.4 * burst), (0.085, voice)]), 0.002, 0.04)


def _air(synth: Synth, seconds: float, tremble: float) -> FloatArray:
    n = synth.samples(seconds)
    air = synth.noise(n, _BREATH) * np.hanning(n) ** 0.7
    return air * (1.0 + tremble * synth.wander(n, 24.0))
