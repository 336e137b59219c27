"""Machines that run: engines, electric tools, cars, an old projector's tape."""

from typing import Literal

import numpy as np

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import sound
from aor_lib.audio.scenes.sounds.music import score
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, rolloff

_WORK = ((700.0, -16.0), (2500.0, -2.0), (5000.0, 0.0), (10_000.0, -10.0))
_EXHAUST = ((120.0, -8.0), (500.0, 0.0), (1800.0, -6.0), (6000.0, -26.0))


@sound
def engine(
    synth: Synth,
    *,
    seconds: library.Seconds,
    pitch_hz: library.Pitch,
    spectrum: library.Spectrum,
    clatter: library.Gain = 0.6,
    drift: library.Ratio = 0.04,
    revs: library.Curve = library.FLAT,
    bite: library.Curve = library.FLAT,
    rasp: library.Ratio = 0.9,
) -> FloatArray:
    """Combustion engine: firing pulses and, with each, a clatter of noise of some spectrum.

    `revs` is the speed and `bite` the clatter over the length; the lower `rasp`, the sharper.
    """
    n = synth.samples(seconds)
    turning = curve(n, revs)
    speed = pitch_hz * turning * (1.0 + drift * synth.wander(n, 2.0))
    # Cylinders are never alike: half the firing rate sounds along.
    firing = synth.tone(speed, n, rolloff(40, rasp))
    firing *= (1.0 + 0.4 * synth.pulses(speed / 2, n, 2.0)) * turning
    noise = synth.noise(n, spectrum) * synth.pulses(speed, n, 2.5)
    return synth.fade(firing + clatter * curve(n, bite) * noise, 0.03, 0.06)


@sound
def motor(
    synth: Synth,
    *,
    seconds: library.Seconds,
    pitch_hz: library.Pitch,
    sag: library.Ratio = 0.15,
    brightness: library.Ratio = 1.2,
    work: library.Gain = 0.9,
    spectrum: library.Spectrum = _WORK,
    work_hz: library.Rate = 0,
) -> FloatArray:
    """Electric tool that spins up, labours under load, and spins down; the work is noise.

    `work_hz` chops the noise, as the flutes of a drill or rollers on a rail do.
    """
    n = synth.samples(seconds)
    load = curve(n, ((0.0, 0.0), (0.12, 0.0), (0.22, 1.0), (0.78, 1.0), (1.0, 0.0)))
    running = curve(n, ((0.0, 0.0), (0.12, 1.0), (0.85, 1.0), (1.0, 0.0)))
    strain = 1.0 + 0.2 * synth.wander(n, 8.0)
    speed = pitch_hz * (0.2 + 0.8 * np.sqrt(running)) * (1.0 - sag * load * strain)
    whine = synth.tone(speed, n, rolloff(16, 1.0 / max(brightness, 0.2)))
    made = synth.noise(n, spectrum) * load * (1.0 + 0.3 * synth.wander(n, 12.0))
    if work_hz:
        made *= synth.pulses(work_hz, n, 2.0)
    return whine * running * (1.0 - 0.3 * load) + work * made


@sound
def revving(
    synth: Synth,
    *,
    seconds: library.Seconds,
    pitch_hz: library.Pitch,
    gear_s: library.Seconds = 1.1,
) -> FloatArray:
    """Full throttle: the pitch climbs through each gear and falls back at the change of gear."""
    n = synth.samples(seconds)
    turn = synth.phase(1.0 / gear_s, n, synth.rng.uniform())
    gear = turn.astype(np.int64)
    within = turn - gear
    climb = 1.0 + 1.2 * (1.0 - np.exp(-2.2 * within)) / (1.0 - np.exp(-2.2))
    speed = pitch_hz * (1.0 + 0.12 * (gear % 4)) * climb * (1.0 + 0.01 * synth.wander(n, 30.0))
    cylinders = synth.tone(speed / 2, n, rolloff(40, 0.6) * ([0.5, 1.0] * 20))
    exhaust = synth.noise(n, _EXHAUST) * (1.0 + synth.tone(speed, n))
    throttle = np.minimum(1.0, 0.25 + within / 0.08)
    return np.asarray((cylinders + 0.35 * exhaust) * throttle)


@sound
def passing_car(synth: Synth, *, seconds: library.Seconds, pitch_hz: library.Pitch) -> FloatArray:
    """A car that passes at a few metres and 55 m/s, with its Doppler shift."""
    n = synth.samples(seconds)
    place = np.linspace(-3.0, 3.0, n)
    doppler = 1.0 - 0.16 * place / np.sqrt(np.square(place) + 0.15)
    running = synth.tone(pitch_hz * doppler, n, rolloff(20, 0.7))
    wind = synth.band(n, 300.0, 2500.0)
    return synth.fade((running + 0.4 * wind) / (0.3 + np.square(place)), 0.1, 0.1)


@sound
def tape(
    synth: Synth,
    *,
    seconds: library.Seconds,
    pitch_hz: library.Pitch = 230,
    motion: Literal["play", "scrub", "rewind"],
) -> FloatArray:
    """An orchestra's score on tape: played, turned to and fro by hand, or rewound."""
    n = synth.samples(seconds)
    music = score(synth, pitch_hz)
    if motion == "play":
        speed = np.ones(n)
    elif motion == "scrub":
        speed = 2.2 * np.sin(2 * np.pi * synth.phase(synth.rng.uniform(2.5, 4.0), n))
        speed *= 1.0 + 0.5 * synth.wander(n, 5.0)
    else:
        speed = -curve(n, ((0.0, 1.5), (0.5, synth.rng.uniform(6.0, 8.0)), (0.9, 7.0), (1.0, 1.0)))
    # Linear interpolation: its images lie far below what is read at several times the speed.
    position = (synth.rng.uniform(0.0, music.size) + np.cumsum(speed)) % music.size
    made = np.interp(position, np.arange(music.size), music)
    if motion == "scrub":
        made *= np.abs(speed)
    if motion == "rewind":
        flutter = synth.band(n, 1200.0, 5000.0) * synth.pulses(-9.0 * speed, n, 3.0)
        made += 1.2 * flutter + 0.5 * synth.tone(-95.0 * speed, n, (1.0, 0.5, 0.3))
    return synth.fade(made, 0.01, 0.01)
