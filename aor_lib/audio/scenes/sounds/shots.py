"""Gunshots, explosions, thunder and what breaks: broadband fronts with irregular tails."""

import numpy as np

from aor_lib.audio.scenes.library import Seconds, sound
from aor_lib.audio.scenes.synth import Bands, FloatArray, Synth, octaves

_SHOT = octaves(60, (0, -0.6, -2.4, -3.6, -4.2, -4.8, -7, -11), 0.34, 0.94)
_HUSHED = octaves(60, (-16, -10, -6, -4, 0, -1, -5, -10), 0.16, 1.05)
_BLAST = octaves(45, (-2, -1, 0, -4, -6, -8, -12, -18), 1.0, 1.0)
_THUNDER = octaves(45, (-1, 0, -1, -5, -9, -13, -17, -22), 1.4, 1.0)


@sound
def gunshot(synth: Synth, *, suppressed: bool = False) -> FloatArray:
    """A shot: a front much louder than all else, and a dozen echoes that come when they like."""
    bands = _HUSHED if suppressed else _SHOT
    return _echoing(synth, _front(synth, bands, 0.9, 1.5), bands, 0.5)


@sound
def explosion(synth: Synth, *, seconds: Seconds = 1.6) -> FloatArray:
    """An explosion: several fronts that arrive together, a rolling boom, and echoes."""
    return _rolling(synth, _BLAST, seconds, 0.12)


@sound
def thunder(synth: Synth, *, seconds: Seconds = 3.0) -> FloatArray:
    """Near thunder: peals that come from ever farther along the flash."""
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
    # The pressure wave itself: up at once, and below the air's for a few milliseconds after.
    time = synth.time(n) / 0.0012
    return np.asarray(blast + sharp * (1.0 - time) * np.exp(-time))


def _echoing(synth: Synth, made: FloatArray, bands: Bands, within_s: float) -> FloatArray:
    # A wall throws back another sound than the muzzle's: copies would be heard as a comb.
    walls = [_front(synth, bands, within_s, 1.5) for _ in range(4)]
    dull, echoes = [np.convolve(wall, np.ones(5) / 5) for wall in walls], []
    for at_s in synth.rng.uniform(0.04, 1.0, 12) * within_s:
        level = 0.4 * synth.rng.uniform(0.3, 1.0) * (1.2 - at_s / within_s)
        echoes.append((at_s, level * dull[synth.rng.integers(len(dull))]))
    return synth.fade(synth.overlay([(0.0, made), *echoes]), 0.0, 0.2)
