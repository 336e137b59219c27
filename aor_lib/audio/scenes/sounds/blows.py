"""Blows, steps and creaks: noise that dies away at once rather than bodies that ring."""

from typing import Annotated, TypeAlias

import numpy as np

from aor_lib.audio.scenes.library import TABLES, Count, Pitch, Seconds, named_in, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, octaves, peaked, rolloff, unit_rms

Target: TypeAlias = Annotated[str, named_in("blows")]
Ground: TypeAlias = Annotated[str, named_in("grounds")]
_HEEL = octaves(60, (0, 0, -3, -8, -12, -16, -20), 0.06, 1.2)
_BALL = octaves(45, (-5, -1, -6, -10, -12, -13, -14, -15), 0.06, 1.03)
_GRIND_HZ = np.array([600.0, 1_370.0, 3_140.0, 7_150.0])


@sound
def blow(synth: Synth, *, target: Target, contacts: Count = 2, gap_s: Seconds = 0.03) -> FloatArray:
    """A blow or a fall: two contacts for a fist or a foot, more for a falling body or furniture."""
    struck = TABLES["blows"][target]
    bands = octaves(*struck["bands"])
    n = synth.samples(max(t60_s for _, _, t60_s in bands))
    parts, at_s, level = [], 0.0, 1.0
    for _ in range(contacts):
        parts.append((at_s, level * peaked(synth.hit(n, bands, struck["attack_s"]))))
        at_s += gap_s * synth.rng.uniform(0.4, 1.6)
        level *= synth.rng.uniform(0.4, 0.8)
    return synth.fade(synth.overlay(parts), 0.0, 0.05)


@sound
def step(
    synth: Synth, *, ground: Ground = "concrete", run: bool = False, hushed: bool = False
) -> FloatArray:
    """A step: a sole lands in many small contacts, the heel strikes, and the foot rolls off."""
    trodden = TABLES["grounds"][ground]
    rise_s, hold_s, fall_s = synth.rng.uniform(0.8, 1.25, 3) * (0.154, 0.112, 0.16)
    hurry = 0.6 if run else 1.0
    n = synth.samples(0.5 * hurry)
    knots = hurry * np.cumsum((0.0, rise_s, hold_s, fall_s, 0.2))
    rolling_db = np.interp(synth.time(n), knots, (-30.0, 0.0, -1.0, -20.0, -24.0))
    hz, levels_db = np.array(trodden["sole"], dtype=np.float64).T
    uneven = np.stack([_uneven(synth, n, 4.2) for _ in hz])
    gains = 10.0 ** ((levels_db[:, None] + uneven) / 20.0)
    sole = np.einsum("bn,bn->n", [synth.octave(n, centre_hz) for centre_hz in hz], gains)
    sole *= 10.0 ** (rolling_db / 20.0) * 10.0 ** (_uneven(synth, n, 1.9) / 20.0)
    strike = synth.hit(synth.samples(0.15), _HEEL)
    strength = trodden["heel"] * synth.rng.uniform(0.7, 1.2) * (0.4 if hushed else 1.0)
    made = synth.overlay([(0.0, peaked(sole)), (knots[1], strength * peaked(strike))])
    return synth.fade(made, 0.02, 0.03)


@sound
def ball(synth: Synth) -> FloatArray:
    """One bounce of a heavy ball, which is compressed and springs back."""
    n = synth.samples(0.3)
    bounce = peaked(synth.hit(n, _BALL, attack_s=0.012))
    back = 0.5 * peaked(synth.hit(n, _BALL, attack_s=0.003))
    return synth.overlay([(0.0, bounce), (synth.rng.uniform(0.035, 0.075), back)])


@sound
def squeak(synth: Synth, *, pitch_hz: Pitch = 1_200) -> FloatArray:
    """A sole or a hinge that slips: its pitch wavers constantly, and its level even more."""
    n = synth.samples(0.14 * synth.rng.uniform(0.6, 1.5))
    around = synth.rng.uniform(-0.3, 0.3) + 0.2 * synth.wander(n, 3.0)
    pitch = pitch_hz * 2.0**around * (1.0 + 0.18 * synth.wander(n, 70.0))
    made = synth.tone(pitch, n, rolloff(20, 0.45)) * np.maximum(0.0, 1.0 + synth.wander(n, 60.0))
    return synth.fade(made, 0.01, 0.03)


@sound
def creak(synth: Synth, *, seconds: Seconds, pitch_hz: Pitch = 1_200) -> FloatArray:
    """A hinge or a tree trunk that sticks, slips and sticks again: squeaks one after another."""
    parts, at_s = [], 0.0
    while at_s < seconds:
        part = squeak(synth, pitch_hz=pitch_hz) * synth.rng.uniform(0.5, 1.0)
        parts.append((at_s, part))
        at_s += part.size / synth.rate + synth.rng.uniform(0.05, 0.15)
    return synth.overlay(parts)


@sound
def scrape(synth: Synth, *, seconds: Seconds = 0.4) -> FloatArray:
    """A spade pushed into the ground: it strikes and grinds over stones."""
    n = synth.samples(seconds)
    gains = 10.0 ** (np.stack([_uneven(synth, n, 5.0, 150.0) for _ in _GRIND_HZ]) / 20.0)
    grinding = np.einsum("bn,bn->n", [synth.octave(n, hz) for hz in _GRIND_HZ], gains)
    grinding *= np.maximum(0.03, 1.0 + synth.wander(n, 6.0))
    grinding *= curve(n, ((0.0, 0.0), (0.7, 1.0), (0.75, 0.8), (1.0, 0.0)))
    strike = synth.hit(synth.samples(0.2), _HEEL)
    made = synth.overlay([(0.0, peaked(grinding)), (0.0, 0.7 * peaked(strike))])
    return synth.fade(made, 0.01, 0.03)


@sound
def rustle(synth: Synth, *, seconds: Seconds) -> FloatArray:
    """Dry leaves or paper: bright crackles by fits and starts, over the hiss of the rest."""
    n, size = synth.samples(seconds), synth.samples(0.008)
    density = np.minimum(4.0, 10.0 ** (_uneven(synth, n, 4.5, 7.0) / 20.0))
    pitches_hz = np.geomspace(3_600.0, 9_000.0, 8)
    grains = [synth.hit(size, ((hz / 2, -6.0, 0.004), (hz, 0.0, 0.004))) for hz in pitches_hz]
    crackles = synth.cloud(110.0 * density, grains)
    hiss = synth.noise(n, ((500, -20), (2_000, -4), (5_000, 0), (10_000, -3)))
    return synth.fade(unit_rms(crackles) + 0.45 * density * hiss, 0.1, 0.1)


def _uneven(synth: Synth, n: int, spread_db: float, rate_hz: float = 34.0) -> FloatArray:
    position = rate_hz * synth.time(n) + synth.rng.uniform()
    knots = synth.rng.normal(0.0, spread_db, int(position[-1]) + 2)
    return np.interp(position, np.arange(knots.size), knots)
