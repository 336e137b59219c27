"""Fire, and food in hot fat."""

import numpy as np

from aor_lib.audio.scenes import library
from aor_lib.audio.scenes.library import sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve, unit_rms


@sound
def fire(
    synth: Synth, *, seconds: library.Seconds, roar: library.Gain = 0.9, crackle: library.Gain = 0.8
) -> FloatArray:
    """Burning wood: flames that roar and flap, small crackles, and now and then a larger crack."""
    n = synth.samples(seconds)
    flap = np.exp(0.3 * (synth.wander(n, 4.0) + 0.7 * synth.wander(n, 11.0)))
    flames = synth.noise(n, ((25, -8.0), (60, 0.0), (100, 0.0), (400, -14.0), (1500, -30.0)))
    hiss = synth.noise(n, ((300, -24.0), (1500, -8.0), (4000, 0.0), (9000, -2.0)))
    size = synth.samples(0.08)
    small, large = [], []
    for at in synth.rng.uniform(0.5, 1.5, 5):
        bands = ((1500 * at, -4.0, 0.012), (3500 * at, 0.0, 0.009), (7000 * at, -2.0, 0.006))
        small.append(synth.hit(synth.samples(0.02), bands, 0.0003))
        bands = ((400 * at, -4.0, 0.05), (900 * at, 0.0, 0.03), (2500 * at, 0.0, 0.02))
        large.append(synth.hit(size, (*bands, (6000 * at, -2.0, 0.01)), 0.0003))
    busy = 1.0 + 0.8 * synth.wander(n, 2.0)  # crackles come in spells
    made = roar * flames * flap + 0.06 * hiss * np.sqrt(flap)
    for per_s, kernels, share in ((190.0, small, 0.8), (16.0, large, 0.5)):
        made += crackle * share * unit_rms(synth.cloud(per_s * busy, kernels))
    return np.asarray(made)


@sound
def frying(
    synth: Synth, *, seconds: library.Seconds, shape: library.Curve = library.FLAT
) -> FloatArray:
    """Food in hot fat: a sizzle of steam, and many small bubbles that burst."""
    n, size = synth.samples(seconds), synth.samples(0.02)
    steam = synth.texture(n, ((500, -26.0), (1500, -13.0), (5000, 0.0), (11_000, -5.0)), 0.1, 6.0)
    bursts = [
        synth.hit(size, ((hz, 0.0, 0.008), (2 * hz, 0.0, 0.006), (4 * hz, -4.0, 0.004)), 0.0003)
        for hz in 3800.0 * synth.rng.uniform(0.5, 1.5, 6)
    ]
    made = steam + 1.2 * unit_rms(synth.cloud(np.full(n, 330.0), bursts))
    return synth.fade(made * curve(n, shape), 0.005, 0.05)
