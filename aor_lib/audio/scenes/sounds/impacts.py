"""Drums, bells and gongs."""

import numpy as np

from aor_lib.audio.scenes.library import Count, Gain, Pitch, Seconds, Spectrum, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth

_GONG = (1.0, 1.41, 1.58, 2.0, 2.37, 2.83, 3.16, 3.72, 4.19, 4.9, 5.63, 6.51, 7.9, 9.7, 12.1)


@sound
def drum(
    synth: Synth,
    *,
    thump: Gain = 0,
    thump_hz: Pitch = 100,
    thump_s: Seconds = 0.2,
    snap: Gain = 0,
    snap_s: Seconds = 0.05,
    spectrum: Spectrum = ((500.0, -12.0), (2000.0, 0.0), (7000.0, -8.0)),
) -> FloatArray:
    """A drum: the thump of its skin, and the snap of a stick or of snares."""
    n = synth.samples(1.2 * max(thump_s, snap_s))
    made = np.zeros(n)
    if thump:
        made += thump * synth.thump(n, thump_hz * synth.rng.normal(1.0, 0.05), thump_s)
    if snap:
        t60_s = snap_s * synth.rng.uniform(0.8, 1.2)
        made += snap * (synth.noise(n, spectrum) * synth.decay(n, t60_s))
    return synth.fade(made, 0.0, 0.02)


@sound
def bell(
    synth: Synth,
    *,
    pitch_hz: Pitch,
    ring_s: Seconds = 1.2,
    strokes: Count = 1,
    gap_s: Seconds = 0.3,
) -> FloatArray:
    """One or several strokes on a bell; a gap of a few hundredths makes an electric bell."""
    stroke = synth.struck(synth.samples(min(ring_s, 2.5)), pitch_hz, "bell", ring_s)
    return synth.fade(synth.overlay((i * gap_s, stroke) for i in range(strokes)), 0.0, 0.05)


@sound
def gong(synth: Synth, *, pitch_hz: Pitch) -> FloatArray:
    """A large gong, whose energy takes a moment to spread from its low modes to the high ones."""
    n = synth.samples(2.4)
    modes = np.asarray(_GONG) * synth.rng.normal(1.0, 0.006, len(_GONG))
    # Each mode is a pair of close ones: a gong is never quite round, and it beats.
    ratios = np.concatenate([modes, modes * synth.rng.uniform(1.003, 1.012, modes.size)])
    gains = synth.rng.uniform(0.4, 1.0, ratios.size) * ratios**-0.5
    low = ratios < 3.0
    strike = synth.modal(n, pitch_hz * ratios, 4.5 * ratios**-0.5, gains * low)
    bloom = synth.modal(n, pitch_hz * ratios, 4.5 * ratios**-0.5, gains * ~low)
    mallet = synth.thump(n, pitch_hz, 0.2)
    return synth.fade(strike + 1.2 * bloom * (1.0 - synth.decay(n, 0.6)) + mallet, 0.004, 0.2)
