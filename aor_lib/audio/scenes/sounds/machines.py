"""Machines: motors and what they drive, hum, a jackhammer, a chainsaw."""

import numpy as np

from aor_lib.audio.scenes.library import FLAT, TABLES, Curve, Gain, Pitch, Rate, Seconds, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, cycle, octaves, unit_rms

_WORK = ((400, -18.0), (1500, -6.0), (3500, 0.0), (8000, -4.0))
_CYCLE = 2048  # samples of a stored cycle; a power of two


@sound
def motor(
    synth: Synth,
    *,
    seconds: Seconds,
    pitch_hz: Pitch = 650,
    air: Gain = 1.1,
    work: Gain = 0.3,
    work_hz: Rate = 3,
    revs: Curve = FLAT,
) -> FloatArray:
    """Electric motor: many orders of its rotation, each of its own and wandering, in moving air.

    Its `work` is a noise, and slows it at random, some `work_hz` times a second; `revs`
    is its speed over the length.
    """
    n = synth.samples(seconds)
    turning = curve(n, revs)
    load = np.clip(0.5 + 1.2 * synth.wander(n, work_hz), 0.0, 1.0)
    slowed = 1.0 - min(0.28, 0.7 * work) * load + 0.02 * synth.wander(n, 10.0)
    made = _orders(synth, pitch_hz * turning * slowed, n, 23, 0.9) * (1.0 - 0.3 * load)
    made += air * synth.noise(n, ((300, -18.0), (1200, -6.0), (4000, 0.0), (9000, -6.0)))
    made += work * synth.noise(n, _WORK) * load
    return synth.fade(made * np.square(turning), 0.03, 0.06)


@sound
def hum(synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 50, air: Gain = 1) -> FloatArray:
    """Fan, compressor or transformer: the orders of mains or a rotor, and the air it moves."""
    n = synth.samples(seconds)
    moved = synth.noise(n, ((60, -3.0), (160, 0.0), (600, -7.0), (2000, -18.0), (8000, -38.0)))
    steady = pitch_hz * (1.0 + 0.002 * synth.wander(n, 2.0))
    return _orders(synth, steady, n, 20, 0.1, fall=0.6) + air * moved


@sound
def jackhammer(synth: Synth, *, seconds: Seconds, blows_hz: Rate = 21) -> FloatArray:
    """A chisel that breaks stone `blows_hz` times a second, in the exhaust of compressed air."""
    n, size = synth.samples(seconds), synth.samples(0.12)
    bands = octaves(60, (0, -1, -2.5, -4, -5, -6, -7.5, -9), 0.045, 1.17)
    shared = synth.hit(size, bands, 0.0005)
    steel_hz = synth.rng.uniform(1300.0, 1600.0)
    blows = []
    for _ in range(6):
        blow = shared + 0.9 * synth.hit(size, bands, 0.0005)
        steel = synth.struck(size, steel_hz, TABLES["bodies"]["metal"], 0.1)
        blows.append(blow / np.max(np.abs(blow)) + 0.075 * unit_rms(steel))
    speed = blows_hz * (1.0 + 0.02 * synth.wander(n, 3.0))
    air = synth.noise(n, ((100, -6.0), (400, 0.0), (2000, -3.0), (8000, -8.0)))
    air *= synth.pulses(speed, n, 2.0)
    return synth.fade(synth.strokes(speed, n, blows, 0.2) + 0.9 * unit_rms(air), 0.01, 0.05)


@sound
def chainsaw(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 185, revs: Curve = FLAT
) -> FloatArray:
    """A two-stroke engine at full throttle, hardly silenced, and the teeth of its chain in wood."""
    n = synth.samples(seconds)
    turning = curve(n, revs)
    speed = pitch_hz * turning * (1.0 + 0.05 * synth.wander(n, 10.0))
    chain = synth.noise(n, ((500, -20.0), (1800, -3.0), (4000, 0.0), (8000, -6.0)))
    chain *= 0.5 + synth.pulses(speed / 2, n, 2.0)
    made = _orders(synth, speed, n, 40, 0.2) + 0.9 * unit_rms(chain)
    return synth.fade(made * (0.4 + 0.6 * turning), 0.03, 0.06)


def _orders(
    synth: Synth, speed: FloatArray, n: int, count: int, unsteady: float, fall: float = 0.3
) -> FloatArray:
    """Sines at whole multiples of a speed, whose levels wander each by itself; RMS 1."""
    # One cycle is stored for each of twenty moments a second, and cycles are faded into the next:
    # a sine for each order and sample takes five times as long.
    at_moment = 20.0 * synth.time(n)
    moment = at_moment.astype(np.int64)
    into_next = at_moment - moment
    orders = np.arange(1, min(count, int(10_500 / np.max(speed))) + 1)
    levels = synth.rng.lognormal(0.0, 0.5, orders.size) * orders**-fall
    wandering = synth.rng.uniform(-1.0, 1.0, (int(moment[-1]) + 2, orders.size))
    turned = np.exp(2j * np.pi * synth.rng.uniform(size=orders.size))
    cycles = cycle(levels * turned * (1.0 + unsteady * wandering), _CYCLE).reshape(-1)
    at = (synth.phase(speed, n) * _CYCLE).astype(np.int64) & (_CYCLE - 1)
    at += _CYCLE * moment
    return unit_rms(cycles.take(at) * (1.0 - into_next) + cycles.take(at + _CYCLE) * into_next)
