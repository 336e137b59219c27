"""Hard things that knock together: crockery, coins, keys, chains, blades, glass; small mechanisms.

Unlike those of musical instruments, their many modes die away almost at once.
"""

from typing import Annotated, TypeAlias

import numpy as np

from aor_lib.audio.scenes.library import TABLES, Count, Gain, Pitch, Rate, Seconds, named_in, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, octaves, peaked
from aor_lib.config.scene import Share

Thing: TypeAlias = Annotated[str, named_in("things")]
_DISTINCT = 6
_BOTTOM = octaves(62.5, (-24, -26, -26, -13, -3, 0, -1, -5), 0.04, 1.0)
_CASE = octaves(62.5, (-22, -26, -28, -12, -3, 0, -4, -10), 0.4, 1.1)
_AIR = ((60, 0), (300, -8), (1500, -18), (6000, -30))
_PER_S = 5.5


@sound
def clatter(
    synth: Synth, *, thing: Thing, contacts: Count = 4, gap_s: Seconds = 0.07
) -> FloatArray:
    """Contacts of a thing with others like it, each at a different spot."""
    kernels = _contacts(synth, thing, min(contacts, _DISTINCT))
    parts, at_s = [], 0.0
    for number in range(contacts):
        parts.append((at_s, kernels[number % len(kernels)] * synth.rng.lognormal(0.0, 0.5)))
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
    """A dropped object that bounces ever faster and more softly."""
    kernels = _contacts(synth, thing, min(bounces, _DISTINCT))
    parts, at_s = [], 0.0
    for number, left in enumerate(restitution ** np.arange(bounces)):
        parts.append((at_s, left * kernels[number % len(kernels)] * synth.rng.lognormal(0.0, 0.3)))
        at_s += first_gap_s * left * synth.rng.uniform(0.7, 1.3)
    return synth.overlay(parts)


@sound
def shatter(synth: Synth, *, seconds: Seconds = 0.9) -> FloatArray:
    """A breaking pane: a crack, and shards of all sizes that fall and clink."""
    n = synth.samples(seconds)
    crack = synth.hit(n, octaves(120, (-14, -10, -5, -2, 0, -2, -3), 0.16, 1.0), 0.0005)
    shards = [s for _ in range(3) for s in _contacts(synth, "glass", 2)]
    falling = 60.0 * np.exp(-3.0 * np.arange(n) / n)
    return synth.fade(crack / np.max(np.abs(crack)) + 0.4 * synth.cloud(falling, shards), 0.0, 0.1)


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


@sound
def typing(synth: Synth, *, seconds: Seconds, typists: Count = 1) -> FloatArray:
    """Keyboards: words of a few keystrokes, and pauses for thought; one near, others farther."""
    n = synth.samples(seconds)
    made = np.zeros(n + synth.rate)
    for typist in range(typists):
        plate = _plate(synth, 1000.0)
        keys = [_key(synth, plate) for _ in range(8)]
        level = 1.0 if typist == 0 else synth.rng.uniform(0.15, 0.4)
        at_s = synth.rng.uniform(-0.4, 0.0)
        while at_s < seconds:
            for _ in range(synth.rng.integers(3, 11)):
                at_s += synth.rng.lognormal(-np.log(_PER_S), 0.35)
                start = round(at_s * synth.rate)
                if 0 <= start < n:
                    stroke = keys[synth.rng.integers(len(keys))] * synth.rng.lognormal(0.0, 0.35)
                    made[start : start + stroke.size] += level * stroke
            at_s += synth.rng.exponential(0.3)
    return synth.fade(made[:n] + 0.006 * synth.noise(n, _AIR), 0.01, 0.05)


@sound
def click(
    synth: Synth,
    *,
    pitch_hz: Pitch = 2000,
    ring_s: Seconds = 0.05,
    contacts: Count = 1,
    gap_s: Seconds = 0.06,
) -> FloatArray:
    """A switch, a shutter, a latch or a tick: noise around a pitch, in one or more contacts."""
    parts, at_s = [], 0.0
    for _ in range(contacts):
        bands = octaves(pitch_hz / 8, (-24, -18, -8, 0, -3, -8), ring_s, 1.0)
        made = synth.hit(synth.samples(1.3 * ring_s), bands, 0.0003)
        parts.append((at_s, synth.rng.lognormal(0, 0.3) * made / np.max(np.abs(made))))
        at_s += gap_s * synth.rng.uniform(0.6, 1.4)
    return synth.fade(synth.overlay(parts), 0.0, 0.01)


@sound
def mechanism(
    synth: Synth,
    *,
    seconds: Seconds,
    strokes_hz: Rate = 14,
    pitch_hz: Pitch = 3000,
    whir: Gain = 0.3,
) -> FloatArray:
    """Cams, pawls and gears: a cycle of different strokes, and the whir of the drive."""
    n, plate = synth.samples(seconds), _plate(synth, 0.5 * pitch_hz)
    strokes = [_contact(synth, *plate) for _ in range(6)]
    made = synth.strokes(strokes_hz * (1.0 + 0.06 * synth.wander(n, 3.0)), n, strokes, 0.35)
    made += whir * synth.texture(n, ((100, -8), (400, 0), (1500, -4), (5000, -14)), 0.3, 20.0)
    return synth.fade(made, 0.02, 0.05)


def _plate(synth: Synth, low_hz: float) -> tuple[FloatArray, FloatArray]:
    """Modes of a keyboard's plate, which all its keys share: pitches and decays."""
    hz = low_hz * 7.0 ** synth.rng.uniform(size=12)
    return hz, 0.05 * (hz / low_hz) ** -0.4 * synth.rng.lognormal(0.0, 0.3, hz.size)


def _key(synth: Synth, plate: tuple[FloatArray, FloatArray]) -> FloatArray:
    touch_s, held_s = synth.rng.uniform(0.008, 0.02), synth.rng.uniform(0.06, 0.11)
    release = synth.rng.lognormal(-0.7, 0.3)
    down, up = _contact(synth, *plate), _contact(synth, *plate)
    back_s = touch_s + held_s + synth.rng.uniform(0.005, 0.015)
    parts = [(0.0, 0.15 * up), (touch_s, down), (touch_s + held_s, release * up)]
    return synth.fade(synth.overlay([*parts, (back_s, 0.5 * release * down)]), 0.0, 0.02)


def _contact(synth: Synth, hz: FloatArray, t60_s: FloatArray) -> FloatArray:
    n = synth.samples(0.15)
    bottom = synth.hit(n, _BOTTOM, 0.0003)
    ringing = synth.modal(n, hz, t60_s, synth.rng.normal(0.0, 1.0, hz.size))
    made = 0.6 * bottom / np.max(np.abs(bottom)) + 0.7 * ringing / np.max(np.abs(ringing))
    # Noise of the case, which is much softer and lasts much longer.
    return peaked(made) + 0.05 * synth.hit(n, _CASE, 0.002)
