"""Hard things that knock together: crockery, coins, keys, chains, sheet metal, blades, glass.

What tells them from musical instruments is that their many modes die away almost at once.
"""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from aor_lib.audio.scenes.library import Count, Seconds, sound
from aor_lib.audio.scenes.synth import Bands, FloatArray, Synth, octaves
from aor_lib.config.scene import Share


class _Thing(NamedTuple):
    low_hz: float
    high_hz: float
    modes: int
    t60_s: float  # of its lowest mode
    knock: float  # level of the noise of the contact
    bands: Bands


_SMALL = octaves(1000, (-14, -7, 0, -3), 0.05, 1.1)
_LARGE = octaves(120, (-12, -8, -4, -2, 0, -3, -6), 0.12, 1.1)

_THINGS: dict[str, _Thing] = {
    "coin": _Thing(3200, 11000, 30, 0.08, 0.7, _SMALL),
    "chain": _Thing(1200, 10000, 30, 0.09, 0.8, octaves(500, (-12, -8, -3, 0, -3), 0.06, 1.1)),
    "cutlery": _Thing(1800, 11000, 16, 0.22, 0.5, _SMALL),
    "crockery": _Thing(
        1300, 10000, 18, 0.16, 0.5, octaves(250, (-20, -14, -7, -3, 0, -4), 0.06, 1.1)
    ),
    "pan": _Thing(350, 9000, 40, 0.35, 0.6, _LARGE),
    "sheet": _Thing(180, 8000, 60, 0.3, 1.0, _LARGE),
    "bolt": _Thing(700, 9000, 30, 0.07, 1.0, octaves(250, (-12, -8, -4, 0, -1, -4), 0.05, 1.1)),
    "anvil": _Thing(800, 9000, 14, 0.7, 1.5, octaves(250, (-10, -6, -3, 0, -1, -5), 0.07, 1.1)),
    "blade": _Thing(1100, 11000, 40, 0.8, 0.3, octaves(500, (-12, -6, 0, -1, -3), 0.08, 1.1)),
    "glass": _Thing(2500, 11000, 12, 0.25, 0.6, _SMALL),
    "lumber": _Thing(
        200, 3000, 12, 0.06, 1.5, octaves(80, (-8, -3, 0, -2, -4, -8, -14), 0.08, 1.1)
    ),
}
Thing: TypeAlias = Literal[
    "coin",
    "chain",
    "cutlery",
    "crockery",
    "pan",
    "sheet",
    "bolt",
    "anvil",
    "blade",
    "glass",
    "lumber",
]
_DISTINCT = 6


@sound
def clatter(
    synth: Synth, *, thing: Thing, contacts: Count = 4, gap_s: Seconds = 0.07
) -> FloatArray:
    """Contacts of a thing with others like it, each in another place."""
    kernels = _contacts(synth, _THINGS[thing], min(contacts, _DISTINCT))
    parts, at_s = [], 0.0
    for number in range(contacts):
        kernel = kernels[number % len(kernels)]
        parts.append((at_s, kernel * synth.rng.lognormal(0.0, 0.5)))
        at_s += gap_s * synth.rng.exponential()
    return synth.overlay(parts)


@sound
def dropped(
    synth: Synth,
    *,
    thing: Thing,
    bounces: Count = 5,
    first_gap_s: Seconds = 0.14,
    restitution: Share = 0.7,
) -> FloatArray:
    """Something that falls and bounces ever faster and more softly."""
    kernels = _contacts(synth, _THINGS[thing], min(bounces, _DISTINCT))
    parts, at_s = [], 0.0
    for number, left in enumerate(restitution ** np.arange(bounces)):
        parts.append((at_s, left * kernels[number % len(kernels)] * synth.rng.lognormal(0.0, 0.3)))
        at_s += first_gap_s * left * synth.rng.uniform(0.7, 1.3)
    return synth.overlay(parts)


@sound
def shatter(synth: Synth, *, seconds: Seconds = 0.9) -> FloatArray:
    """A pane that breaks: a crack, and shards of all sizes that fall and clink."""
    n = synth.samples(seconds)
    crack = synth.hit(n, octaves(120, (-14, -10, -5, -2, 0, -2, -3), 0.16, 1.0), 0.0005)
    shards = [s for _ in range(3) for s in _contacts(synth, _THINGS["glass"], 2)]
    falling = 60.0 * np.exp(-3.0 * np.arange(n) / n)
    made = crack / np.max(np.abs(crack)) + 0.4 * synth.cloud(falling, shards)
    return synth.fade(made, 0.0, 0.1)


@sound
def blade_clash(synth: Synth) -> FloatArray:
    """Two steel blades that hit each other, and often slide along each other before they part."""
    clash = clatter(synth, thing="blade", contacts=3, gap_s=0.06)
    n = synth.samples(synth.rng.uniform(0.12, 0.3))
    scrape = synth.texture(n, ((1500, -20), (3500, -4), (6000, 0), (10000, -4)), 0.6, 60.0)
    scrape *= synth.rng.uniform(0.0, 0.5) * np.hanning(2 * n)[n:]
    return synth.overlay([(0.0, clash), (0.02, scrape)])


def _contacts(synth: Synth, thing: _Thing, count: int) -> list[FloatArray]:
    n = synth.samples(1.1 * thing.t60_s)
    hz = np.exp(synth.rng.uniform(np.log(thing.low_hz), np.log(thing.high_hz), thing.modes))
    t60_s = thing.t60_s * (hz / thing.low_hz) ** -0.3 * synth.rng.lognormal(-0.3, 0.4, hz.size)
    kernels = []
    for _ in range(count):
        ringing = synth.modal(n, hz, t60_s, synth.rng.normal(0.0, 1.0, hz.size))
        knock = synth.hit(n, thing.bands, 0.0003)
        kernel = ringing / np.max(np.abs(ringing)) + thing.knock * knock / np.max(np.abs(knock))
        kernels.append(synth.fade(kernel / np.max(np.abs(kernel)), 0.0, 0.01))
    return kernels
