"""Pitched sounds of a single source: beeps, whistles, horns, sirens, lasers, bells."""

from typing import Literal, TypeAlias

import numpy as np

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import FLAT, Curve, Gain, Pitch, Rate, Ratio, Seconds, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, rolloff, semitones

Wave: TypeAlias = Literal["sine", "soft", "square", "pulse", "saw", "buzz"]

WAVES: dict[Wave, FloatArray] = {
    "sine": np.array([1.0, 0.08]),
    "soft": np.array([1.0, 0.4, 0.2, 0.1]),
    "square": np.array([1.0, 0.0, 0.33, 0.0, 0.2, 0.0, 0.14]),
    "pulse": np.sin(np.pi * np.arange(1, 13) / 6) / np.arange(1, 13),
    "saw": rolloff(24, 1.0),
    "buzz": rolloff(40, 0.6),
}
"""Amplitudes of each wave's harmonics; waves are listed from dull to bright."""


@sound
def tone(
    synth: Synth,
    *,
    seconds: Seconds,
    pitch_hz: Pitch,
    wave: Wave = "soft",
    chord: library.Chord = (1.0,),
    bend: Curve = FLAT,
    shape: Curve = FLAT,
    wobble: Ratio = 0,
    wobble_hz: Rate = 10,
    vibrato: Ratio = 0,
    vibrato_hz: Rate = 6,
    pulse_hz: Rate = 0,
    sharpness: Gain = 3,
    flutter: Ratio = 0,
    flutter_hz: Rate = 10,
    breath: Gain = 0,
) -> FloatArray:
    """A tone, or several at ratios of the pitch, that may bend, tremble, pulse and breathe.

    `bend` scales the pitch and `shape` the level over the length; `wobble` varies the pitch at
    random and `vibrato` periodically; `breath` adds air around the pitch.
    """
    n = synth.samples(seconds)
    pitch = pitch_hz * curve(n, bend)
    if wobble:
        pitch *= np.maximum(0.1, 1.0 + wobble * synth.wander(n, wobble_hz))
    if vibrato:
        turn = synth.phase(vibrato_hz, n, synth.rng.uniform())
        pitch *= 2.0 ** (vibrato * np.sin(2 * np.pi * turn))
    made = np.zeros(n)
    for ratio in chord:
        made += synth.tone(ratio * pitch, n, WAVES[wave])
    if breath:
        made += breath * synth.band(n, pitch_hz, min(3 * pitch_hz, 10_000.0))
    made *= curve(n, shape)
    if pulse_hz:
        made *= synth.pulses(pulse_hz, n, sharpness)
    if flutter:
        made *= np.maximum(0.0, 1.0 + flutter * synth.wander(n, flutter_hz))
    return synth.fade(made, 0.005, 0.02)


@sound
def beeps(
    synth: Synth,
    *,
    pitch_hz: Pitch,
    beep_s: Seconds = 0.1,
    count: library.Count = 1,
    gap_s: Seconds = 0.14,
    rise: library.Steps = (0.0,),
    wave: Wave = "square",
) -> FloatArray:
    """Electronic beeps, `gap_s` from onset to onset; `rise` lists their semitones in turn."""
    n = synth.samples(beep_s)
    sounding = [synth.tone(float(hz), n, WAVES[wave]) for hz in semitones(pitch_hz, rise)]
    beeping = [synth.fade(beep, 0.0003, 0.0003) for beep in sounding]
    return synth.overlay((i * gap_s, beeping[i % len(rise)]) for i in range(count))


@sound
def siren(synth: Synth, *, seconds: Seconds, pitch_hz: Pitch, turn_s: Seconds = 5) -> FloatArray:
    """Alternating wail and yelp of an emergency vehicle: the same sweep, slow and fast."""
    n = synth.samples(seconds)
    wailing = (2.0 * synth.phase(1.0 / turn_s, n, synth.rng.uniform())).astype(np.int64) % 2 == 0
    sweeps_hz = np.where(wailing, synth.rng.uniform(0.35, 0.55), synth.rng.uniform(2.6, 3.8))
    # Integrating the sweep's rate keeps the pitch continuous when the mode changes.
    sweep = 0.5 - 0.5 * np.cos(2 * np.pi * synth.phase(sweeps_hz, n, synth.rng.uniform()))
    horn = np.array([1.0, 0.26, 0.27, 0.09, 0.09, 0.03, 0.02, 0.01])
    return synth.tone(pitch_hz * 2.2**sweep, n, horn)


@sound
def laser_cannon(synth: Synth, *, pitch_hz: Pitch) -> FloatArray:
    """The chirp of a struck guy wire, in which high frequencies arrive first, over a thud."""
    n = synth.samples(0.42)
    chirp = np.minimum(pitch_hz + 26.0 / (synth.time(n) + 0.004), 0.4 * synth.rate)
    beam = synth.tone(chirp, n) * synth.decay(n, 0.5)
    ring = 0.6 * synth.tone(1.47 * chirp, n) * synth.decay(n, 0.35)
    return synth.fade(beam + ring + 0.8 * synth.thump(n, 60.0, 0.25), 0.001, 0.05)


@sound
def bell(
    synth: Synth,
    *,
    pitch_hz: Pitch,
    ring_s: Seconds = 1.2,
    strokes: library.Count = 1,
    gap_s: Seconds = 0.3,
) -> FloatArray:
    """One or several strokes on a bell; a gap of a few hundredths makes an electric bell."""
    n, modes = synth.samples(min(ring_s, 2.5)), library.TABLES["bodies"]["bell"]
    stroke = synth.struck(n, pitch_hz, modes, ring_s)
    return synth.fade(synth.overlay((i * gap_s, stroke) for i in range(strokes)), 0.0, 0.05)


@sound
def gong(synth: Synth, *, pitch_hz: Pitch) -> FloatArray:
    """A large gong, whose energy takes a moment to spread from its low modes to the high ones."""
    n = synth.samples(2.4)
    nominal = library.TABLES["bodies"]["gong"]
    modes = nominal * synth.rng.normal(1.0, 0.006, len(nominal))
    # Each mode is a pair of close modes, which beat: a gong is never quite round.
    ratios = np.concatenate([modes, modes * synth.rng.uniform(1.003, 1.012, modes.size)])
    gains = synth.rng.uniform(0.4, 1.0, ratios.size) * ratios**-0.5
    low = ratios < 3.0
    strike = synth.modal(n, pitch_hz * ratios, 4.5 * ratios**-0.5, gains * low)
    bloom = synth.modal(n, pitch_hz * ratios, 4.5 * ratios**-0.5, gains * ~low)
    mallet = synth.thump(n, pitch_hz, 0.2)
    return synth.fade(strike + 1.2 * bloom * (1.0 - synth.decay(n, 0.6)) + mallet, 0.004, 0.2)
