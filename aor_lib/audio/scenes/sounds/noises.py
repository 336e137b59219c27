"""Air, water, fire and debris: noise with a spectrum, and clouds of grains."""

import numpy as np

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, octaves, unit_rms

_KNOCK_DB = (-12.0, -5.0, 0.0, -2.0, -6.0, -12.0)
_COLLAPSE = ((0.0, 1.0), (0.4, 0.45), (1.0, 0.02))


@sound
def noise(
    synth: Synth,
    *,
    seconds: library.Seconds,
    spectrum: library.Spectrum,
    shape: library.Curve = library.FLAT,
    pulse_hz: library.Rate = 0,
    sharpness: library.Gain = 3,
    flutter: library.Ratio = 0,
    flutter_hz: library.Rate = 10,
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
    seconds: library.Seconds,
    pitch_hz: library.Pitch,
    per_s: library.Rate,
    grain_s: library.Seconds = 0.012,
    body: library.Body = "none",
    ground: library.Ratio = 0,
    shape: library.Curve = library.FLAT,
    flutter: library.Ratio = 0,
    flutter_hz: library.Rate = 3,
) -> FloatArray:
    """Many small knocks: fire, sparks, gravel, rubble, jingling; the body ``none`` is noise.

    Grains lie up to an octave around the pitch; `ground` adds a rumble below them.
    """
    n, size = synth.samples(seconds), synth.samples(1.4 * grain_s)
    kernels = []
    for hz in pitch_hz * 2.0 ** synth.rng.uniform(-0.9, 0.9, 5):
        if body == "none":
            kernels.append(synth.hit(size, octaves(hz / 4, _KNOCK_DB, grain_s, 1.2), 0.0003))
        else:
            kernels.append(synth.struck(size, hz, body, grain_s))
    density = curve(n, shape)
    if flutter:
        density *= np.maximum(0.05, 1.0 + flutter * synth.wander(n, flutter_hz))
    made = synth.cloud(per_s * density + 1e-9, kernels)
    if ground:
        made += ground * density * synth.band(n, 50.0, max(0.4 * pitch_hz, 100.0))
    return synth.fade(made, 0.002, min(0.2, 0.2 * seconds))


@sound
def bit_noise(
    synth: Synth, *, seconds: library.Seconds, steps_hz: library.Rate = 1_500
) -> FloatArray:
    """Explosion of an early console: noise held for whole steps, as of a shift register."""
    n, hold = synth.samples(seconds), max(1, round(synth.rate / max(steps_hz, 20.0)))
    steps = synth.rng.choice((-1.0, 1.0), n // hold + 1)
    return np.repeat(steps, hold)[:n] * synth.decay(n, 1.8 * seconds)


@sound
def rubble(
    synth: Synth,
    *,
    seconds: library.Seconds,
    pitch_hz: library.Pitch = 450,
    shape: library.Curve = _COLLAPSE,
) -> FloatArray:
    """Stones of many sizes that fall on each other: masonry, a rockfall, gravel on a belt.

    The small ones are the most; the larger all of them are, the lower the pitch.
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
        falling = synth.cloud(22.0 * 2.2**octave * density + 1e-9, stones)
        made += 0.8**octave * unit_rms(falling)
    return synth.fade(made, 0.002, min(0.2, 0.2 * seconds))
