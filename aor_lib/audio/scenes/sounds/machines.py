"""Machines and vehicles: motors, hum, a jackhammer, a chainsaw, engines, cars, trains."""

import numpy as np

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import FLAT, Curve, Gain, Pitch, Rate, Ratio, Seconds, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, cycle, octaves, unit_rms

_TYRES = ((50, -8.0), (100, -4.0), (300, -4.0), (900, 0.0), (1800, -7.0), (4000, -21.0))
_JOINT_S = 0.75  # rails of 19 m at 90 km/h
_TRAFFIC = ((40, -6.0), (80, 0.0), (300, -4.0), (1000, -10.0), (3000, -28.0), (8000, -48.0))
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
    """Electric motor: many orders of its rotation, which wander in level, and moving air.

    `work` adds noise and slows the motor at random, about `work_hz` times a second; `revs` is the
    motor's speed over the length of the sound.
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
    """Fan, compressor or transformer: harmonics of the mains or a rotor, and moving air."""
    n = synth.samples(seconds)
    moved = synth.noise(n, ((60, -3.0), (160, 0.0), (600, -7.0), (2000, -18.0), (8000, -38.0)))
    steady = pitch_hz * (1.0 + 0.002 * synth.wander(n, 2.0))
    return _orders(synth, steady, n, 20, 0.1, fall=0.6) + air * moved


@sound
def jackhammer(synth: Synth, *, seconds: Seconds, blows_hz: Rate = 21) -> FloatArray:
    """A chisel that strikes stone `blows_hz` times a second, and the exhaust of compressed air."""
    n, size = synth.samples(seconds), synth.samples(0.12)
    bands = octaves(60, (0, -1, -2.5, -4, -5, -6, -7.5, -9), 0.045, 1.17)
    shared = synth.hit(size, bands, 0.0005)
    steel_hz = synth.rng.uniform(1300.0, 1600.0)
    blows = []
    for _ in range(6):
        blow = shared + 0.9 * synth.hit(size, bands, 0.0005)
        steel = synth.struck(size, steel_hz, library.TABLES["bodies"]["metal"], 0.1)
        blows.append(blow / np.max(np.abs(blow)) + 0.075 * unit_rms(steel))
    speed = blows_hz * (1.0 + 0.02 * synth.wander(n, 3.0))
    air = synth.noise(n, ((100, -6.0), (400, 0.0), (2000, -3.0), (8000, -8.0)))
    air *= synth.pulses(speed, n, 2.0)
    return synth.fade(synth.strokes(speed, n, blows, 0.2) + 0.9 * unit_rms(air), 0.01, 0.05)


@sound
def chainsaw(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 185, revs: Curve = FLAT
) -> FloatArray:
    """A two-stroke engine at full throttle, barely muffled, and its chain cutting wood."""
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
    """Sines at whole multiples of a speed, whose levels wander independently; RMS 1."""
    # Twenty cycles per second are stored, and each is cross-faded into the next: computing a sine
    # for each order and sample takes five times as long.
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


@sound
def engine(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 32, rough: Ratio = 1, revs: Curve = FLAT
) -> FloatArray:
    """Combustion engine that fires `pitch_hz` times a second, in four different cylinders.

    A large or idling engine needs a high `rough`. `revs` is the speed over the sound's length.
    """
    n = synth.samples(seconds)
    turning = curve(n, revs)
    speed = pitch_hz * turning * (1.0 + 0.03 * synth.wander(n, 2.0) + 0.015 * synth.wander(n, 9.0))
    made = _firing(synth, speed, n, rough)
    breath = synth.noise(n, ((60, -6.0), (200, 0.0), (800, -10.0), (2500, -20.0), (8000, -35.0)))
    valves = synth.noise(n, ((300, -20.0), (1500, -4.0), (4000, 0.0), (9000, -12.0)))
    made += (0.2 + rough) * breath * (0.3 + 1.4 * synth.pulses(speed, n, 2.5))
    made += 0.08 * valves * (0.5 + synth.pulses(speed / 2, n, 4.0))
    return synth.fade(made * (0.4 + 0.6 * turning), 0.03, 0.06)


@sound
def race_car(
    synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 110, gear_s: Seconds = 1.2
) -> FloatArray:
    """A race car at full throttle: the pitch climbs in each gear and drops at each gear change."""
    n = synth.samples(seconds)
    turn = synth.phase(1.0 / gear_s, n, synth.rng.uniform())
    gear = turn.astype(np.int64)
    within = turn - gear
    climb = 1.0 + 1.2 * (1.0 - np.exp(-2.2 * within))
    speed = pitch_hz * (1.0 + 0.12 * (gear % 4)) * climb * (1.0 + 0.01 * synth.wander(n, 30.0))
    exhaust = synth.texture(n, ((120, -8.0), (500, 0.0), (1800, -6.0), (6000, -22.0)), 0.3, 20.0)
    made = _firing(synth, speed, n, 0.3) + 0.5 * exhaust * (0.5 + synth.pulses(speed, n, 2.0))
    return np.asarray(made * np.minimum(1.0, 0.25 + within / 0.08))


@sound
def passing_car(
    synth: Synth, *, seconds: Seconds = 4, pitch_hz: Pitch = 65, close_s: Seconds = 0.9
) -> FloatArray:
    """A passing car: tyres and engine, whose pitch drops as the car goes by.

    The car is near for about `close_s`.
    """
    n = synth.samples(seconds)
    place = (synth.time(n) - 0.5 * seconds) / close_s
    speed = pitch_hz * (1.0 - 0.06 * place / np.sqrt(1.0 + np.square(place)))
    made = 0.5 * synth.noise(n, _TYRES) + _firing(synth, speed, n, 0.4)
    return synth.fade(made / (1.0 + np.square(place)), 0.3, 0.3)


@sound
def traffic(synth: Synth, *, seconds: Seconds) -> FloatArray:
    """A street: constant distant traffic, and passing cars."""
    n = synth.samples(seconds)
    waiting = engine(synth, seconds=seconds, pitch_hz=synth.rng.uniform(28.0, 40.0))
    made = 0.1 * synth.noise(n, _TRAFFIC) + 0.1 * unit_rms(waiting)
    at_s = -synth.rng.uniform(0.0, 3.5)
    while at_s < seconds:
        size = synth.rng.uniform(0.6, 1.4)
        car = passing_car(synth, seconds=4.0, pitch_hz=65.0 / size, close_s=0.9 * size)
        start = round(at_s * synth.rate)
        car = synth.rng.uniform(0.4, 0.9) * car[max(0, -start) : max(0, n - start)]
        made[max(0, start) : max(0, start) + car.size] += car
        at_s += 3.5 * synth.rng.uniform(0.5, 1.5)
    return made


@sound
def tyre_squeal(synth: Synth, *, seconds: Seconds = 0.8, pitch_hz: Pitch = 1080) -> FloatArray:
    """Skidding tyres: a squeal that trembles and breaks up, over rubbing noise."""
    n = synth.samples(seconds)
    slip = pitch_hz * curve(n, ((0.0, 1.08), (0.3, 1.0), (1.0, 0.88)))
    slip *= 1.0 + 0.07 * synth.wander(n, 20.0) + 0.08 * synth.wander(n, 150.0)
    made = np.zeros(n)
    for ratio, gain in ((1.0, 1.0), (2.0, 0.5), (3.0, 0.25), (1.31, 0.2)):
        pitch = ratio * slip * (1.0 + 0.01 * synth.wander(n, 10.0))
        made += gain * synth.tone(pitch, n) * (1.0 + 0.4 * synth.wander(n, 60.0))
    rubbing = synth.noise(n, ((200, -16.0), (600, -4.0), (1500, 0.0), (3500, -6.0), (9000, -24.0)))
    return (made + 0.4 * rubbing) * curve(n, ((0, 0.0), (0.1, 1.0), (0.8, 0.9), (1, 0.0)))


@sound
def train(synth: Synth, *, seconds: Seconds) -> FloatArray:
    """Inside a train: the roar of wheels, and the four axles of two bogies at each rail joint."""
    n, size = synth.samples(seconds), synth.samples(0.35)
    roar = synth.noise(n, ((25, -7.0), (400, 0.0), (1600, -15.0), (6400, -30.0), (11_000, -36.0)))
    pitches_hz = 300.0 * 8.0 ** synth.rng.uniform(size=12)
    rails = synth.modal(n, pitches_hz, np.full(12, np.inf), synth.rng.uniform(0.02, 0.1, 12))
    bands = octaves(50, (-16, -9, -4, 0, -3, -8, -13, -18), 0.33, 1.0)
    hits = np.zeros(n + size)
    at_s = -synth.rng.uniform(0.0, _JOINT_S)
    while at_s < seconds:
        for axle_s, level in ((0.0, 1.0), (0.19, 0.9), (0.4, 0.75), (0.59, 0.7)):
            start = round((at_s + axle_s + synth.rng.normal(0.0, 0.003)) * synth.rate)
            if 0 <= start < n:
                hit = synth.hit(size, bands, attack_s=0.012)
                hits[start : start + size] += level * synth.rng.lognormal(0.0, 0.2) * hit
        at_s += _JOINT_S * synth.rng.normal(1.0, 0.02)
    rails *= np.maximum(0.0, synth.wander(n, 2.0))
    return np.asarray(roar + rails + unit_rms(hits)[:n])


def _firing(synth: Synth, speed: FloatArray, n: int, rough: float) -> FloatArray:
    # The exhaust of one cylinder has died away before the next cylinder but one fires.
    size, t60_s = synth.samples(0.2), 6.0 / float(np.max(speed))
    bands = octaves(45.0, (-8.0, 0.0, -7.5, -15.0, -22.0, -29.0), max(t60_s, 0.01), 1.6)
    shared = synth.hit(size, bands, 0.01)
    cylinders = [shared + 0.4 * rough * synth.hit(size, bands, 0.01) for _ in range(4)]
    return unit_rms(np.tanh(synth.strokes(speed, n, cylinders, 0.1 * rough)))
