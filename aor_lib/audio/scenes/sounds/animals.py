"""Animals: dogs, cats, ducks, gulls, monsters, songbirds, owls, crickets."""

from dataclasses import replace

import numpy as np

from aor_lib.audio.scenes.library import Count, Pitch, Seconds, sound
from aor_lib.audio.scenes.sounds.voices import CRIES, OPEN_HZ, formants, muffled
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, unit_rms


@sound
def bark(synth: Synth, *, pitch_hz: Pitch = 400, muffle_hz: Pitch = OPEN_HZ) -> FloatArray:
    """One bark; a big dog's has a pitch of 350 Hz, a small one's of 600."""
    dog = replace(CRIES["bark"], tract=0.8 * (pitch_hz / 400.0) ** 0.5)
    cry = formants(synth, synth.rng.uniform(0.14, 0.22), pitch_hz, dog)
    return synth.fade(muffled(synth, muffled(synth, cry, 5000.0), muffle_hz), 0.005, 0.03)


@sound
def meow(synth: Synth, *, pitch_hz: Pitch = 780) -> FloatArray:
    """One mew of a cat."""
    cry = formants(synth, synth.rng.uniform(0.5, 0.9), pitch_hz, CRIES["meow"])
    return synth.fade(cry, 0.04, 0.15)


@sound
def quack(synth: Synth, *, pitch_hz: Pitch = 240) -> FloatArray:
    """One quack of a duck."""
    cry = formants(synth, synth.rng.uniform(0.14, 0.2), pitch_hz, CRIES["quack"])
    return synth.fade(cry, 0.005, 0.03)


@sound
def gull(synth: Synth, *, pitch_hz: Pitch = 1_550) -> FloatArray:
    """One cry of a gull."""
    cry = formants(synth, synth.rng.uniform(0.3, 0.55), pitch_hz, CRIES["gull"])
    return muffled(synth, cry, 4_000.0)


@sound
def growl(synth: Synth, *, pitch_hz: Pitch = 60, seconds: Seconds = 1.2) -> FloatArray:
    """The growl of a big dog or of a monster."""
    return muffled(synth, formants(synth, seconds, pitch_hz, CRIES["growl"]), 3_500.0)


@sound
def birdsong(synth: Synth, *, pitch_hz: Pitch, kinds: Count = 2) -> FloatArray:
    """A songbird's phrase: kinds of syllable, each whistled several times."""
    at_s, parts = 0.0, []
    for _ in range(kinds):
        syllable_s = synth.rng.uniform(0.05, 0.13)
        n = synth.samples(syllable_s)
        bends = synth.rng.uniform(0.7, 1.4, 3)
        bend = curve(n, ((0.0, bends[0]), (0.5, bends[1]), (1.0, bends[2])))
        whistled = synth.tone(pitch_hz * bend, n, (1.0, 0.06)) * np.hanning(n)
        for _ in range(synth.rng.integers(3, 7)):
            parts.append((at_s, whistled))
            at_s += syllable_s + synth.rng.uniform(0.01, 0.04)
    return synth.overlay(parts)


@sound
def owl(synth: Synth, *, pitch_hz: Pitch = 400) -> FloatArray:
    """The call of a tawny owl: one long hoot, and after a pause a trembling one."""
    parts = []
    for at_s, seconds, tremble in ((0.0, 0.6, 0.0), (1.1, 0.15, 0.0), (1.4, 0.9, 1.0)):
        n = synth.samples(seconds)
        pitch = pitch_hz * curve(n, ((0.0, 0.9), (0.25, 1.03), (0.7, 1.0), (1.0, 0.9)))
        hoot = synth.tone(pitch * (1.0 + 0.01 * synth.wander(n, 12.0)), n, (1.0, 0.12, 0.05))
        hoot += 0.12 * synth.band(n, 0.8 * pitch_hz, 2.2 * pitch_hz)
        wave = 1.0 - tremble * 0.45 * (1.0 + np.sin(2 * np.pi * synth.phase(13.0, n)))
        shape = curve(n, ((0.0, 0.0), (0.25, 1.0), (0.7, 0.8), (1.0, 0.0)))
        parts.append((at_s, hoot * wave * shape))
    return synth.overlay(parts)


@sound
def crickets(synth: Synth, *, seconds: Seconds) -> FloatArray:
    """Crickets that trill, one near and one far, in the hiss of all the others and night air."""
    n = synth.samples(seconds)
    made = np.zeros(n)
    for level in (1.0, 0.2):
        hz = synth.rng.uniform(4300.0, 4900.0) * (1.0 + 0.004 * synth.wander(n, 60.0))
        pulses = np.sin(np.pi * synth.phase(synth.rng.uniform(26.0, 31.0), n)) ** 4
        made += level * unit_rms(synth.tone(hz, n, (1.0, 0.3)) * pulses)
    made += 0.5 * synth.band(n, 3800.0, 5700.0)
    air = ((100, -6.0), (400, -10.0), (2000, -20.0), (4000, -8.0), (6000, -8.0), (10_000, -20.0))
    return made + 0.35 * synth.noise(n, air)
