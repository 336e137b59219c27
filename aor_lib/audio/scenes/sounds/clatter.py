"""Hard things that knock together: crockery, coins, keys, chains, sheet metal, blades, glass.

What tells them from musical instruments is that their many modes die away almost at once.
"""

from typing import Annotated, TypeAlias

import numpy as np

from aor_lib.audio.scenes.library import TABLES, Count, Seconds, named_in, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, octaves
from aor_lib.config.scene import Share

Thing: TypeAlias = Annotated[str, named_in("things")]
_DISTINCT = 6


@sound
def clatter(
    synth: Synth, *, thing: Thing, contacts: Count = 4, gap_s: Seconds = 0.07
) -> FloatArray:
    """Contacts of a thing with others like it, each in another place."""
    kernels = _contacts(synth, thing, min(contacts, _DISTINCT))
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
    kernels = _contacts(synth, thing, min(bounces, _DISTINCT))
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
    shards = [s for _ in range(3) for s in _contacts(synth, "glass", 2)]
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


def _contacts(synth: Synth, name: str, count: int) -> list[FloatArray]:
    thing = TABLES["things"][name]
    low_hz, high_hz = thing["range_hz"]
    n = synth.samples(1.1 * thing["t60_s"])
    hz = np.exp(synth.rng.uniform(np.log(low_hz), np.log(high_hz), thing["modes"]))
    t60_s = thing["t60_s"] * (hz / low_hz) ** -0.3 * synth.rng.lognormal(-0.3, 0.4, hz.size)
    kernels = []
    for _ in range(count):
        ringing = synth.modal(n, hz, t60_s, synth.rng.normal(0.0, 1.0, hz.size))
        knock = synth.hit(n, octaves(*thing["bands"]), 0.0003)
        kernel = ringing / np.max(np.abs(ringing)) + thing["knock"] * knock / np.max(np.abs(knock))
        kernels.append(synth.fade(kernel / np.max(np.abs(kernel)), 0.0, 0.01))
    return kernels
