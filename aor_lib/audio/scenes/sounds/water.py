"""Water: rain, taps and streams, waves, drops, bubbles, suction."""

import numpy as np

from aor_lib.audio.scenes.library import Gain, Pitch, Rate, Seconds, Spectrum, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, unit_rms


@sound
def rain(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 1050, drops_per_s: Rate = 160
) -> FloatArray:
    """Rain on ground and leaves: drops of many sizes over the broadband hiss of all the others.

    `drops_per_s` counts only near drops; a lower pitch makes the surface sound hollower.
    """
    n, size = synth.samples(seconds), synth.samples(0.03)
    hiss = ((pitch_hz / 8, -36.0), (pitch_hz / 2, -6.0), (pitch_hz, 0.0), (9000.0, -14.0))
    kernels = []
    for hz in pitch_hz * 2.0 ** synth.rng.uniform(-1.3, 1.0, 10):
        splash = synth.hit(size, ((hz, 0.0, 0.015), (2 * hz, 0.0, 0.012), (4 * hz, -3.0, 0.008)))
        bubble = 0.7 * unit_rms(_bubble(synth, hz, 0.012, size))
        kernels.append(synth.overlay([(0.0, unit_rms(splash)), (0.0, bubble)]))
    drops = synth.cloud(np.full(n, drops_per_s + 1e-9), kernels)
    return synth.noise(n, hiss) + 0.6 * unit_rms(drops)


@sound
def running_water(
    synth: Synth,
    *,
    seconds: Seconds,
    pitch_hz: Pitch = 2200,
    bubbles: Gain = 0.8,
    surge_hz: Rate = 0,
) -> FloatArray:
    """A tap, a stream or a jug being emptied: a fluttering rush, and the bubbles that it entrains.

    A wider and slower flow has a lower pitch. `surge_hz` makes it slosh to and fro.
    """
    n = synth.samples(seconds)
    rush = ((100, -14.0), (300, -7.0), (pitch_hz, 0.0), (9000, -18.0))
    made = synth.texture(n, rush, 0.5, 45.0)
    surge = 0.15 + synth.pulses(surge_hz, n, 3.0) if surge_hz else np.ones(n)
    rising = synth.cloud(100.0 * surge, _bubbles(synth, 0.7 * pitch_hz))
    return synth.fade(made * surge + bubbles * unit_rms(rising), 0.05, 0.1)


@sound
def bubbles(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 600, per_s: Rate = 80
) -> FloatArray:
    """Air rising through a boiling or gurgling liquid, and the noise of its surface."""
    n = synth.samples(seconds)
    rising = synth.cloud(np.full(n, per_s + 1e-9), _bubbles(synth, pitch_hz))
    surface = ((pitch_hz / 4, -14.0), (pitch_hz, 0.0), (3 * pitch_hz, -8.0), (11_000, -34.0))
    return synth.fade(unit_rms(rising) + 0.5 * synth.texture(n, surface, 0.6, 30.0), 0.05, 0.1)


@sound
def drip(synth: Synth, *, pitch_hz: Pitch = 900) -> FloatArray:
    """One drop that falls into water: it splashes, and the bubble that it draws in rings."""
    size = synth.samples(0.15)
    hz = pitch_hz * synth.rng.lognormal(0.0, 0.15)
    splash = synth.hit(size, ((hz, -4.0, 0.03), (2 * hz, 0.0, 0.02), (5000.0, -3.0, 0.012)))
    bubble = (synth.rng.uniform(0.01, 0.03), 1.5 * unit_rms(_bubble(synth, hz, 0.06, size)))
    return synth.fade(synth.overlay([(0.0, unit_rms(splash)), bubble]), 0.0, 0.02)


@sound
def waves(synth: Synth, *, seconds: Seconds) -> FloatArray:
    """The sea at a beach: waves that rise, break and run out in foam, over others further out."""
    n = synth.samples(seconds)
    breaking, foaming = np.full(n, 0.15), np.zeros(n)
    at_s = -synth.rng.uniform(0.0, 5.0)
    while at_s < seconds + 1.0:
        height = synth.rng.uniform(0.6, 1.3)
        breaking += height * _crest(synth.time(n) - at_s, 0.4, 1.6)
        foaming += height * _crest(synth.time(n) - at_s - 0.5, 0.5, 1.7)
        at_s += 5.0 * synth.rng.uniform(0.6, 1.4)
    water = synth.texture(n, ((60, -1), (250, 0), (900, -4), (3000, -11), (9000, -24)), 0.3, 15)
    foam = synth.texture(n, ((400, -20.0), (1500, -3.0), (4000, 0.0), (9000, -8.0)), 0.3, 20.0)
    return np.asarray(water * breaking + 0.12 * foam * foaming)


@sound
def suction(synth: Synth, *, seconds: Seconds, spectrum: Spectrum, slurp: Gain = 2.5) -> FloatArray:
    """A tube that draws in air and, in gulps, liquid, which chokes the air stream."""
    n = synth.samples(seconds)
    gulp = np.maximum(0.0, synth.wander(n, 9.0))
    flutter = 1.0 + 0.6 * synth.wander(n, 70.0)
    air = synth.noise(n, spectrum) * (1.0 - 0.7 * gulp)
    liquid = synth.cloud(20.0 + 220.0 * gulp, _bubbles(synth, 750.0))
    return synth.fade(air + slurp * gulp * flutter * liquid, 0.05, 0.1)


def _bubbles(synth: Synth, pitch_hz: float) -> list[FloatArray]:
    # Small bubbles, which sound higher, die away sooner and are softer.
    return [
        2.0 ** (-0.2 * up) * _bubble(synth, pitch_hz * 2.0**up, 0.05 * 2.0 ** (-0.7 * up), 2000)
        for up in synth.rng.uniform(-1.2, 1.6, 14)
    ]


def _bubble(synth: Synth, pitch_hz: float, t60_s: float, n: int) -> FloatArray:
    """A decaying sine whose pitch rises while the bubble closes."""
    n = min(n, synth.samples(1.5 * t60_s))
    pitch = min(pitch_hz, 8000.0) * np.linspace(1.0, 1.15, n)
    return synth.fade(synth.tone(pitch, n) * synth.decay(n, t60_s), 0.001, 0.005)


def _crest(after_s: FloatArray, rise_s: float, fall_s: float) -> FloatArray:
    return np.asarray(np.exp(-np.maximum(after_s / fall_s, -after_s / rise_s)))
