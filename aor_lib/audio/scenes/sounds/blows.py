"""Blows, steps and what creaks: noise that dies away at once rather than bodies that ring."""

from typing import Literal

import numpy as np
from scipy import signal

from aor_lib.audio.scenes.library import Count, Pitch, Seconds, sound
from aor_lib.audio.scenes.synth import Bands, FloatArray, Points, Synth, octaves

_BLOWS: dict[str, tuple[Bands, float]] = {  # octave bands, and the attack in seconds
    "door": (octaves(50, (0, -2, -6, -10, -12, -14, -16, -20), 0.4, 1.15), 0.002),
    "wall": (octaves(50, (0, -2, -1, -6, -8, -9, -12, -18), 0.4, 1.15), 0.002),
    "floor": (octaves(50, (-4, -2, 0, -3, -8, -14, -18, -24), 0.4, 1.15), 0.002),
    "leather": (octaves(50, (-8, -2, -4, -8, -10, -4, -6, -12), 0.3, 1.1), 0.006),
    "chest": (octaves(40, (0, -3, -10, -20, -32, -44), 0.3, 1.2), 0.02),
    "block": (octaves(60, (-10, -6, -2, 0, -6, -12, -18, -24), 0.08, 1.2), 0.001),
}
_HEEL = octaves(60, (0, 0, -3, -8, -12, -16, -20), 0.1, 1.2)
_SOLES: dict[str, tuple[Points, float]] = {  # octave bands, and the level of the heel
    "concrete": (((460, -10), (1000, 0), (2200, -12)), 0.9),
    "gravel": (((700, -8), (1200, 0), (2600, -6)), 0.6),
    "boards": (((460, -10), (1000, 0), (2200, -12)), 1.6),
}
_BALL = octaves(90, (-8, -2, 0, -5, -9, -12, -18), 0.06, 1.3)
_CLICK = octaves(800, (0, 0, -2, -4), 0.02, 1.4)


@sound
def blow(
    synth: Synth,
    *,
    target: Literal["door", "wall", "floor", "leather", "chest", "block"],
    contacts: Count = 1,
    gap_s: Seconds = 0.05,
) -> FloatArray:
    """One blow; a body that falls, or a door in its frame, makes several `contacts`."""
    bands, attack_s = _BLOWS[target]
    n = synth.samples(max(t60_s for _, _, t60_s in bands))
    parts, at_s, level = [], 0.0, 1.0
    for _ in range(contacts):
        parts.append((at_s, level * _peaked(synth.hit(n, bands, attack_s))))
        at_s += gap_s * synth.rng.uniform(0.4, 1.6)
        level *= synth.rng.uniform(0.4, 0.8)
    return synth.fade(synth.overlay(parts), 0.0, 0.05)


@sound
def step(
    synth: Synth,
    *,
    ground: Literal["concrete", "gravel", "boards"] = "concrete",
    run: bool = False,
    hushed: bool = False,
) -> FloatArray:
    """A step: a sole lands in many small contacts, the heel strikes, and the foot rolls off."""
    bands, heel = _SOLES[ground]
    shares = np.array((0.124, 0.095, 0.18)) * synth.rng.uniform(0.8, 1.25, 3)
    seconds = (0.65 if run else 1.0) * shares
    n = synth.samples(0.28 if run else 0.41)
    knots = (0.0, *np.cumsum(seconds), 0.6)
    rolling = _gain(np.interp(synth.time(n), knots, (-25.0, 0.0, -1.0, -15.0, -19.0)))
    sole = np.zeros(n)
    for hz, level_db in bands:
        spectrum = ((hz / 6, -48.0), (hz / 1.5, 0.0), (hz * 1.5, 0.0), (hz * 6, -48.0))
        sole += synth.noise(n, spectrum) * _gain(level_db + _uneven(synth, n, 5.0))
    sole *= rolling * _gain(_uneven(synth, n, 2.3))
    strike = synth.hit(synth.samples(0.15), _HEEL)
    strength = heel * synth.rng.uniform(0.7, 1.2) * (0.4 if hushed else 1.0)
    made = synth.overlay([(0.0, _peaked(sole)), (seconds[0], strength * _peaked(strike))])
    return synth.fade(made, 0.02, 0.03)


@sound
def ball(synth: Synth) -> FloatArray:
    """One bounce of a heavy ball."""
    return synth.fade(synth.hit(synth.samples(0.3), _BALL), 0.0, 0.05)


@sound
def creak(synth: Synth, *, seconds: Seconds, slips_hz: Pitch = 50) -> FloatArray:
    """A hinge or a trunk that sticks and slips, now faster and now slower, and clicks."""
    n, size, rng = synth.samples(seconds), synth.samples(0.15), synth.rng
    speed = slips_hz * 2.0 ** (1.1 * synth.wander(n, 5.0)) * (1.0 + 0.25 * synth.wander(n, 25.0))
    slips = np.flatnonzero(np.diff(synth.phase(speed, n).astype(np.int64)))
    late = rng.normal(0.0, 0.2, slips.size) * synth.rate / speed[slips]
    forces = np.zeros(n)
    forces[np.clip(slips + late.astype(np.int64), 0, n - 1)] = rng.lognormal(0.0, 0.7, slips.size)
    forces *= np.maximum(0.03, 1.0 + 1.2 * synth.wander(n, 10.0))
    modes_hz = np.exp(rng.uniform(np.log(1_000.0), np.log(7_000.0), 30))
    wood = synth.modal(size, modes_hz, rng.uniform(0.012, 0.036, 30), rng.normal(0.0, 1.0, 30))
    answer = _peaked(wood) + 2.0 * _peaked(synth.hit(size, _CLICK))
    return synth.fade(np.asarray(signal.oaconvolve(forces, answer)[:n]), 0.05, 0.1)


def _uneven(synth: Synth, n: int, spread_db: float) -> FloatArray:
    position = 40.0 * synth.time(n) + synth.rng.uniform()
    knots = synth.rng.normal(0.0, spread_db, int(position[-1]) + 2)
    return np.interp(position, np.arange(knots.size), knots)


def _gain(level_db: FloatArray | float) -> FloatArray:
    return np.asarray(10.0 ** (np.asarray(level_db) / 20.0))


def _peaked(samples: FloatArray) -> FloatArray:
    return np.asarray(samples / np.max(np.abs(samples)))
