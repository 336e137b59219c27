"""Noise: air, fire, debris, and the broadband fronts of gunshots, explosions and thunder."""

from typing import Annotated

import numpy as np

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import FLAT, Curve, Gain, Pitch, Rate, Ratio, Seconds, sound
from aor_lib.audio.scenes.synth import Bands, FloatArray, Synth, curve, octaves, unit_rms

_KNOCK_DB = (-12.0, -5.0, 0.0, -2.0, -6.0, -12.0)
_COLLAPSE = ((0.0, 1.0), (0.4, 0.45), (1.0, 0.02))
_SHOT = octaves(60, (0, -0.6, -2.4, -3.6, -4.2, -4.8, -7, -11), 0.34, 0.94)
_HUSHED = octaves(60, (-16, -10, -6, -4, 0, -1, -5, -10), 0.16, 1.05)
_BLAST = octaves(45, (-2, -1, 0, -4, -6, -8, -12, -18), 1.0, 1.0)
_THUNDER = octaves(45, (-1, 0, -1, -5, -9, -13, -17, -22), 1.4, 1.0)


@sound
def noise(
    synth: Synth,
    *,
    seconds: Seconds,
    spectrum: library.Spectrum,
    shape: Curve = FLAT,
    pulse_hz: Rate = 0,
    sharpness: Gain = 3,
    flutter: Ratio = 0,
    flutter_hz: Rate = 10,
) -> FloatArray:
    """Steady noise of air, traffic or steam, shaped over its length, pulsed or fluttering."""
    n = synth.samples(seconds)
    made = synth.noise(n, spectrum) * curve(n, shape)
    if pulse_hz:
        made *= synth.pulses(pulse_hz, n, sharpness)
    if flutter:
        made *= np.maximum(0.0, 1.0 + flutter * synth.wander(n, flutter_hz))
    return synth.fade(made, 0.002, 0.01)


@sound
def grains(
    synth: Synth,
    *,
    seconds: Seconds,
    pitch_hz: Pitch,
    per_s: Rate,
    grain_s: Seconds = 0.012,
    body: Annotated[str, library.named_in("bodies")] = "none",
    ground: Ratio = 0,
    shape: Curve = FLAT,
    flutter: Ratio = 0,
    flutter_hz: Rate = 3,
) -> FloatArray:
    """Many small knocks: fire, sparks, gravel, rubble, jingling; the body ``none`` gives noise.

    Grains lie up to an octave around the pitch; `ground` adds a rumble below them.
    """
    n, size = synth.samples(seconds), synth.samples(1.4 * grain_s)
    kernels = []
    for hz in pitch_hz * 2.0 ** synth.rng.uniform(-0.9, 0.9, 5):
        if body == "none":
            kernels.append(synth.hit(size, octaves(hz / 4, _KNOCK_DB, grain_s, 1.2), 0.0003))
        else:
            kernels.append(synth.struck(size, hz, library.TABLES["bodies"][body], grain_s))
    density = curve(n, shape)
    if flutter:
        density *= np.maximum(0.05, 1.0 + flutter * synth.wander(n, flutter_hz))
    made = synth.cloud(per_s * density + 1e-9, kernels)
    if ground:
        made += ground * density * synth.band(n, 50.0, max(0.4 * pitch_hz, 100.0))
    return synth.fade(made, 0.002, min(0.2, 0.2 * seconds))


@sound
def bit_noise(synth: Synth, *, seconds: Seconds, steps_hz: Rate = 1_500) -> FloatArray:
    """Explosion in an early console game: noise held in steps, as from a shift register."""
    n, hold = synth.samples(seconds), max(1, round(synth.rate / max(steps_hz, 20.0)))
    steps = synth.rng.choice((-1.0, 1.0), n // hold + 1)
    return np.repeat(steps, hold)[:n] * synth.decay(n, 1.8 * seconds)


@sound
def rubble(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 450, shape: Curve = _COLLAPSE
) -> FloatArray:
    """Stones of many sizes that fall on each other: masonry, a rockfall, gravel on a belt.

    Small stones are the most numerous; a lower pitch makes all stones larger.
    """
    n, size = synth.samples(seconds), synth.samples(0.25)
    density = curve(n, shape)
    made = np.zeros(n)
    for octave in range(3):
        low_hz = pitch_hz * 2.0**octave
        stones = [
            synth.hit(size, octaves(low_hz * at, (0, 1.5, 2.5, 3), 0.15 * 0.7**octave, 1.3))
            for at in (0.6, 0.8, 1.0, 1.3)
        ]
        made += 0.8**octave * unit_rms(synth.cloud(22.0 * 2.2**octave * density + 1e-9, stones))
    return synth.fade(made, 0.002, min(0.2, 0.2 * seconds))


@sound
def fire(synth: Synth, *, seconds: Seconds, roar: Gain = 0.9, crackle: Gain = 0.8) -> FloatArray:
    """Burning wood: flames that roar and flap, small crackles, and now and then a larger crack."""
    n = synth.samples(seconds)
    flap = np.exp(0.3 * (synth.wander(n, 4.0) + 0.7 * synth.wander(n, 11.0)))
    flames = synth.noise(n, ((25, -8.0), (60, 0.0), (100, 0.0), (400, -14.0), (1500, -30.0)))
    hiss = synth.noise(n, ((300, -24.0), (1500, -8.0), (4000, 0.0), (9000, -2.0)))
    small, large = [], []
    for at in synth.rng.uniform(0.5, 1.5, 5):
        bands = ((1500 * at, -4.0, 0.012), (3500 * at, 0.0, 0.009), (7000 * at, -2.0, 0.006))
        small.append(synth.hit(synth.samples(0.02), bands, 0.0003))
        bands = ((400 * at, -4.0, 0.05), (900 * at, 0.0, 0.03), (2500 * at, 0.0, 0.02))
        large.append(synth.hit(synth.samples(0.08), (*bands, (6000 * at, -2.0, 0.01)), 0.0003))
    busy = 1.0 + 0.8 * synth.wander(n, 2.0)  # crackles come in bursts
    made = roar * flames * flap + 0.06 * hiss * np.sqrt(flap)
    for per_s, kernels, share in ((190.0, small, 0.8), (16.0, large, 0.5)):
        made += crackle * share * unit_rms(synth.cloud(per_s * busy, kernels))
    return np.asarray(made)


@sound
def frying(synth: Synth, *, seconds: Seconds, shape: Curve = FLAT) -> FloatArray:
    """Food in hot fat: a sizzle of steam, and many small bubbles that burst."""
    n, size = synth.samples(seconds), synth.samples(0.02)
    steam = synth.texture(n, ((500, -26.0), (1500, -13.0), (5000, 0.0), (11_000, -5.0)), 0.1, 6.0)
    bursts = [
        synth.hit(size, ((hz, 0.0, 0.008), (2 * hz, 0.0, 0.006), (4 * hz, -4.0, 0.004)), 0.0003)
        for hz in 3800.0 * synth.rng.uniform(0.5, 1.5, 6)
    ]
    made = steam + 1.2 * unit_rms(synth.cloud(np.full(n, 330.0), bursts))
    return synth.fade(made * curve(n, shape), 0.005, 0.05)


@sound
def gunshot(synth: Synth, *, suppressed: bool = False) -> FloatArray:
    """A gunshot: a front much louder than the rest, and a dozen echoes at random times."""
    bands = _HUSHED if suppressed else _SHOT
    return _echoing(synth, _front(synth, bands, 0.9, 1.5), bands, 0.5)


@sound
def explosion(synth: Synth, *, seconds: Seconds = 1.6) -> FloatArray:
    """An explosion: several fronts that arrive together, a rolling boom, and echoes."""
    return _rolling(synth, _BLAST, seconds, 0.12)


@sound
def thunder(synth: Synth, *, seconds: Seconds = 3.0) -> FloatArray:
    """Nearby thunder: peals from points ever farther along the flash."""
    return _rolling(synth, _THUNDER, seconds, 0.6)


def _rolling(synth: Synth, bands: Bands, seconds: float, within_s: float) -> FloatArray:
    at_s = (0.0, *synth.rng.uniform(0.01, within_s, 2))
    made = synth.overlay((at, _front(synth, bands, seconds, 0.3)) for at in at_s)
    made *= 1.0 + 0.5 * synth.wander(made.size, 9.0)
    return _echoing(synth, made, bands, 0.5 * seconds)


def _front(synth: Synth, bands: Bands, seconds: float, sharp: float) -> FloatArray:
    n = synth.samples(seconds)
    blast = synth.hit(n, bands, attack_s=0.0004, spread_db=2.0)
    blast = np.tanh(4.0 * blast / np.max(np.abs(blast)))
    # The pressure wave: a sudden rise, then below ambient pressure for a few milliseconds.
    time = synth.time(n) / 0.0012
    return np.asarray(blast + sharp * (1.0 - time) * np.exp(-time))


def _echoing(synth: Synth, made: FloatArray, bands: Bands, within_s: float) -> FloatArray:
    # Echoes are drawn anew: copies of the shot itself would sound like a comb filter.
    walls = [_front(synth, bands, within_s, 1.5) for _ in range(4)]
    dull, echoes = [np.convolve(wall, np.ones(5) / 5) for wall in walls], []
    for at_s in synth.rng.uniform(0.04, 1.0, 12) * within_s:
        level = 0.4 * synth.rng.uniform(0.3, 1.0) * (1.2 - at_s / within_s)
        echoes.append((at_s, level * dull[synth.rng.integers(len(dull))]))
    return synth.fade(synth.overlay([(0.0, made), *echoes]), 0.0, 0.2)
