"""A metal workshop with a forge and a welder."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import decay, fade, pulses, wander
from aor_lib.audio.scenes.foley import motor
from aor_lib.audio.scenes.impacts import burst, modal, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, grains, shaped_noise, varied
from aor_lib.audio.scenes.timing import steady
from aor_lib.audio.scenes.tones import oscillator, rolloff_partials

_SHOP_AIR = [(60, 0.0), (250, -6.0), (1000, -18.0), (5000, -38.0)]
_SPARKS = [(1500, -24.0), (3500, -4.0), (6000, 0.0), (10000, -4.0)]
_SCALE = [(400, -6.0), (2000, 0.0), (7000, -6.0)]
_ANVIL = np.array([1.0, 1.93, 2.78, 3.61, 4.47, 5.3])


def metal_workshop(canvas: Canvas) -> None:
    """A smith's hammer on the anvil, over an angle grinder and an arc welder in turn."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_SHOP_AIR, rng), rng), -32)
    mains_hz = rng.choice((50.0, 60.0))
    transformer_hz = np.full(n, 2 * mains_hz)
    transformer = oscillator(transformer_hz, rate, rolloff_partials(12, 0.8), rng.uniform())
    canvas.add_bed(transformer, -27)
    disc_hz, sheet_hz = rng.uniform(520.0, 680.0), rng.uniform(1700.0, 2600.0)
    onset, grinding = 0.0, bool(rng.integers(2))
    while onset < canvas.duration_s:
        seconds = rng.uniform(0.8, 1.3)
        if grinding:
            ground = _grinder(seconds, disc_hz, sheet_hz, rate, rng)
            canvas.add_event("angle grinder", onset, ground, -6)
        else:
            canvas.add_event("welding arc", onset, _arc(seconds, 2 * mains_hz, rate, rng), -4)
        grinding = not grinding
        onset += seconds + rng.uniform(0.02, 0.15)
    anvil_hz = rng.uniform(950.0, 1350.0)
    for onset in steady(canvas.duration_s, rng.uniform(0.5, 0.68), rng, jitter=0.06):
        canvas.add_event("hammer on anvil", onset, _blow(anvil_hz, rate, rng), 5)
        if rng.uniform() < 0.4:  # the hammer rebounds and is let fall once more
            tap = _blow(anvil_hz, rate, rng)
            canvas.add_event("hammer on anvil", onset + rng.uniform(0.16, 0.2), tap, -4)
    canvas.reverberate(0.7, -8.0, 6000.0)


def _blow(anvil_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.9 * rate)
    frequencies = anvil_hz * _ANVIL * rng.normal(1.0, 0.003, _ANVIL.size)
    gains = rng.uniform(0.4, 1.0, _ANVIL.size)
    ring = modal(n, rate, frequencies, 1.1 * _ANVIL**-0.4, gains)
    scale = burst(n, rate, _SCALE, 0.03, rng)
    return fade(ring + 0.8 * scale + 0.8 * thump(n, rate, 260.0, 130.0, 0.08), rate, 0.0, 0.1)


def _grinder(
    seconds: float, disc_hz: float, sheet_hz: float, rate: int, rng: np.random.Generator
) -> FloatArray:
    n = round(seconds * rate)
    whine, load = motor(n, rate, disc_hz, rng, spin_up=0.1, sag=0.12, brightness=1.3)
    bite = load * (1.0 + 0.4 * wander(n, rate, 12.0, rng))
    sparks = shaped_noise(n, rate, varied(_SPARKS, rng), rng)
    # The sheet under the disc sings in a few narrow bands.
    song = sum(band_noise(n, rate, 0.99 * hz, 1.01 * hz, rng) for hz in (sheet_hz, 1.62 * sheet_hz))
    return 0.6 * whine + bite * (sparks + 0.5 * song)


def _arc(seconds: float, buzz_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    """Arc that buzzes with the mains and spits as drops of metal short it."""
    n = round(seconds * rate)
    size = round(0.012 * rate)
    spits = [
        band_noise(size, rate, low_hz, 3 * low_hz, rng) * decay(size, rate, 0.012)
        for low_hz in rng.uniform(900.0, 2500.0, 4)
    ]
    strength = np.maximum(0.1, 1.0 + 0.7 * wander(n, rate, 9.0, rng))
    plasma = band_noise(n, rate, 600.0, 4500.0, rng)
    plasma *= pulses(np.full(n, buzz_hz), rate, 3.0, rng.uniform())
    crackle = grains(110.0 * strength, rate, spits, rng)
    buzz = oscillator(np.full(n, buzz_hz), rate, rolloff_partials(30, 0.6))
    return fade(strength * (0.4 * plasma + 0.12 * buzz) + 0.8 * crackle, rate, 0.01, 0.02)
