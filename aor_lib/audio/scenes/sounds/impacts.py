"""Things that are struck, dropped and rattled."""

import numpy as np

from aor_lib.audio.scenes.library import Body, Count, Gain, Pitch, Ratio, Seconds, Spectrum, sound
from aor_lib.audio.scenes.synth import FloatArray, Synth, curve
from aor_lib.config.scene import Share

_SNAP = ((500.0, -12.0), (2000.0, 0.0), (7000.0, -8.0))
_GONG = (1.0, 1.41, 1.58, 2.0, 2.37, 2.83, 3.16, 3.72, 4.19, 4.9, 5.63, 6.51, 7.9, 9.7, 12.1)


@sound
def impact(
    synth: Synth,
    *,
    body: Body = "none",
    pitch_hz: Pitch = 300,
    ring_s: Seconds = 0.15,
    thump_hz: Pitch = 100,
    thump_s: Seconds = 0.2,
    thump: Gain = 0,
    snap: Gain = 0,
    snap_s: Seconds = 0.05,
    spectrum: Spectrum = _SNAP,
) -> FloatArray:
    """One blow: a body that rings, a thump below it, and a snap of noise where it hits."""
    n = synth.samples(1.2 * max(ring_s, thump_s, snap_s))
    made = np.zeros(n)
    if body != "none":
        made += synth.struck(n, pitch_hz * synth.rng.normal(1.0, 0.02), body, ring_s)
    if thump:
        made += thump * synth.thump(n, thump_hz * synth.rng.normal(1.0, 0.05), thump_s)
    if snap:
        made += snap * synth.burst(n, spectrum, snap_s * synth.rng.uniform(0.8, 1.2))
    return synth.fade(made, 0.0, 0.02)


@sound
def rattle(
    synth: Synth,
    *,
    body: Body,
    pitch_hz: Pitch,
    spread: Ratio = 0.5,
    ring_s: Seconds = 0.2,
    count: Count = 4,
    gap_s: Seconds = 0.07,
) -> FloatArray:
    """Several hits in quick succession, up to `spread` octaves above the pitch: plates, a cage."""
    n, at_s, parts = synth.samples(1.2 * ring_s), 0.0, []
    for _ in range(count):
        hit = synth.struck(n, pitch_hz * 2.0 ** synth.rng.uniform(0.0, spread), body, ring_s)
        parts.append((at_s, synth.fade(hit, 0.0, 0.02) * synth.rng.uniform(0.4, 1.0)))
        at_s += gap_s * synth.rng.uniform(0.5, 1.5)
    return synth.overlay(parts)


@sound
def bounces(
    synth: Synth,
    *,
    body: Body,
    pitch_hz: Pitch,
    ring_s: Seconds = 0.2,
    count: Count = 5,
    first_gap_s: Seconds = 0.14,
    restitution: Share = 0.72,
) -> FloatArray:
    """Something dropped that hits the ground ever faster and more softly."""
    n, at_s, parts = synth.samples(1.2 * ring_s), 0.0, []
    for left in restitution ** np.arange(count):
        parts.append((at_s, left * synth.struck(n, pitch_hz, body, ring_s)))
        at_s += first_gap_s * left
    return synth.overlay(parts)


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


@sound
def blade_clash(synth: Synth, *, pitch_hz: Pitch) -> FloatArray:
    """Two steel blades that hit each other, and often slide along each other before they part."""
    n = synth.samples(0.55)
    first = synth.struck(n, pitch_hz * synth.rng.normal(1.0, 0.05), "metal", 0.5)
    second = synth.struck(n, pitch_hz * synth.rng.uniform(1.06, 1.25), "metal", 0.35)
    contact = synth.burst(n, ((1000, -12.0), (4000, 0.0), (9000, -3.0)), 0.03)
    scrape_end = synth.rng.uniform(0.2, 0.6)
    scrape = synth.noise(n, ((2500, -24.0), (5000, 0.0), (9000, -2.0)))
    scrape *= curve(n, ((0.0, 1.0), (scrape_end, 0.3), (scrape_end + 0.1, 0.0)))
    return first + 0.7 * second + contact + synth.rng.uniform(0.0, 0.35) * scrape
