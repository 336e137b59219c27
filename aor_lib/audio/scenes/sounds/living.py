"""Animals and crowds: dogs, cats, birds, crickets; babble, cheering, applause."""

from dataclasses import replace
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from aor_lib.audio.scenes.library import Count, Pitch, Ratio, Seconds, sound
from aor_lib.audio.scenes.sounds.voices import CRIES, OPEN_HZ, backwards, formants, muffled
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, peaked, unit_rms

People: TypeAlias = Annotated[int, Field(ge=1, le=400)]
_CLAP_GAP_S = 0.26
_DISTINCT = 12


@sound
def bark(synth: Synth, *, pitch_hz: Pitch = 400, muffle_hz: Pitch = OPEN_HZ) -> FloatArray:
    """One bark; the pitch is about 350 Hz for a big dog and 600 Hz for a small one."""
    dog = replace(CRIES["bark"], tract=0.8 * (pitch_hz / 400.0) ** 0.5)
    cry = formants(synth, synth.rng.uniform(0.14, 0.22), pitch_hz, dog)
    return synth.fade(muffled(synth, muffled(synth, cry, 5000.0), muffle_hz), 0.005, 0.03)


@sound
def meow(synth: Synth, *, pitch_hz: Pitch = 780) -> FloatArray:
    """One meow of a cat."""
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
    """A songbird's phrase of several kinds of syllable, each whistled several times."""
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
    """Two trilling crickets, one near and one far, over the hiss of the others and night air."""
    n = synth.samples(seconds)
    made = np.zeros(n)
    for level in (1.0, 0.2):
        hz = synth.rng.uniform(4300.0, 4900.0) * (1.0 + 0.004 * synth.wander(n, 60.0))
        pulses = np.sin(np.pi * synth.phase(synth.rng.uniform(26.0, 31.0), n)) ** 4
        made += level * unit_rms(synth.tone(hz, n, (1.0, 0.3)) * pulses)
    made += 0.5 * synth.band(n, 3800.0, 5700.0)
    air = ((100, -6.0), (400, -10.0), (2000, -20.0), (4000, -8.0), (6000, -8.0), (10_000, -20.0))
    return made + 0.35 * synth.noise(n, air)


@sound
def murmur(synth: Synth, *, seconds: Seconds, talkers: Count = 20, raised: Ratio = 1) -> FloatArray:
    """Babble of guests, near and far: reversed sentences, so that no word is intelligible.

    `raised` multiplies the pitch: 1 for talk, 1.25 for excited people, 1.6 for children.
    """
    n = synth.samples(seconds)
    near = _talk(synth, n, max(1, talkers // 5), raised)
    far = synth.reverberate(muffled(synth, _talk(synth, n, talkers, raised), 2500.0), 0.9, 0, 3000)
    return unit_rms(near) + unit_rms(far)


@sound
def cheering(synth: Synth, *, seconds: Seconds) -> FloatArray:
    """A cheering crowd: long calls of many voices, excited talk, a roar and applause."""
    n = synth.samples(seconds)
    distinct = []
    for _ in range(_DISTINCT):
        call_s, pitch_hz = 1.2 * synth.rng.uniform(0.5, 1.6), 600.0 * synth.rng.lognormal(0.0, 0.48)
        vowels = str(synth.rng.choice(("ea", "u", "a", "oa", "ae")))
        caller = replace(CRIES["cheer"], vowels=vowels, tract=1.28 * synth.rng.uniform(0.9, 1.15))
        distinct.append(formants(synth, call_s, pitch_hz, caller))
    calls, talk = _scattered(synth, n, distinct, 8.0), _talk(synth, n, 22, 1.7)
    roar = synth.noise(n, ((100, -16), (200, -9), (400, -1), (600, 0), (1200, -7), (2400, -14)))
    voices = 0.9 * unit_rms(calls) + 0.4 * np.tanh(0.7 * unit_rms(talk)) + 0.25 * roar
    hands = applause(synth, seconds=seconds, people=40)
    swell = 1.0 + 0.17 * synth.wander(n, 0.5)
    return muffled(synth, swell * voices + 0.56 * unit_rms(hands), 3_000.0)


@sound
def chant(synth: Synth, *, seconds: Seconds, pitch_hz: Pitch) -> FloatArray:
    """Many voices that hold one open vowel, not quite together and not quite in tune."""
    n = synth.samples(seconds + 0.05)
    choir = np.zeros(n)
    for voice in range(8):
        sung = formants(synth, seconds, pitch_hz * (1 + voice % 2), CRIES["chant"])
        start = synth.samples(synth.rng.uniform(0.0, 0.03))
        choir[start : start + sung.size] += sung
    return choir * curve(n, ((0.0, 0.0), (0.1, 1.0), (0.7, 0.8), (1.0, 0.0)))


@sound
def applause(synth: Synth, *, seconds: Seconds, people: People = 140) -> FloatArray:
    """Applause: some pairs of hands near, the rest dulled by distance, over a diffuse layer."""
    n = synth.samples(seconds)
    near, far = np.zeros(n), np.zeros(n)
    claps = [_clap(synth) for _ in range(min(2 * people, 110))]
    for person in range(people):
        level = synth.rng.uniform(0.2, 1.0)
        hands = near if person % 12 == 0 else far
        for start in _starts(synth, n):
            gain = level * synth.rng.lognormal(0.0, 0.25)
            clap = gain * claps[(2 * person + synth.rng.integers(2)) % len(claps)]
            hands[start : start + clap.size] += clap[: n - start]
    spectrum = ((200, -24), (950, -6), (1900, 0), (3800, -4), (7600, -12), (10000, -26))
    dull = muffled(synth, far, 3500.0)
    others = synth.noise(n, spectrum) * (1.0 + 0.1 * synth.wander(n, 3.0))
    return synth.fade(unit_rms(near) + unit_rms(dull) + 0.5 * others, 0.2 * seconds, 0.3 * seconds)


def _starts(synth: Synth, n: int) -> NDArray[np.int64]:
    gap_s = _CLAP_GAP_S * synth.rng.lognormal(0.0, 0.15)
    gaps_s = gap_s * synth.rng.normal(1.0, 0.06, int(n / synth.rate / gap_s) + 2)
    at = np.cumsum(gaps_s) - gap_s * synth.rng.uniform(1.0, 2.0)
    starts = np.round(at * synth.rate).astype(np.int64)
    return starts[(starts >= 0) & (starts < n)]


def _clap(synth: Synth) -> FloatArray:
    n = synth.samples(0.08)
    hz = 1100.0 * 2.0 ** synth.rng.uniform(0.0, 0.9)
    levels = ((-16, 0.078), (-8, 0.062), (0, 0.052), (-4, 0.032), (-9, 0.02), (-16, 0.015))
    bands = [(hz * 2.0 ** (i - 2), level_db, t60_s) for i, (level_db, t60_s) in enumerate(levels)]
    return peaked(synth.hit(n, bands, spread_db=2.0))


def _talk(synth: Synth, n: int, talkers: int, raised: float) -> FloatArray:
    total = np.zeros(n)
    for _ in range(talkers):
        spoken = backwards(synth, raised)
        level = synth.rng.lognormal(-0.5, 0.6)
        start = -int(synth.rng.integers(spoken.size))
        while start < n:
            part = spoken[max(0, -start) : n - start]
            total[max(0, start) : max(0, start) + part.size] += level * part
            start += spoken.size + int(synth.rng.exponential(0.4) * synth.rate)
    return total


def _scattered(synth: Synth, n: int, calls: list[FloatArray], per_s: float) -> FloatArray:
    total = np.zeros(n)
    for _ in range(round(per_s * n / synth.rate)):
        call = calls[synth.rng.integers(len(calls))] * synth.rng.lognormal(-0.5, 0.7)
        start = int(synth.rng.integers(-call.size, n))
        part = call[max(0, -start) : n - start]
        total[max(0, start) : max(0, start) + part.size] += part
    return total
