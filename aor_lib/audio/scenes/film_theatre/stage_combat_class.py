"""A stage combat class in a rehearsal room."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import breakpoints
from aor_lib.audio.scenes.foley import blade_clash
from aor_lib.audio.scenes.impacts import WOOD, burst, struck, thump
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied

_ROOM = [(60, 0.0), (250, -8.0), (1000, -20.0), (6000, -45.0)]
_SOLE = [(150, -4.0), (600, 0.0), (2000, -10.0), (6000, -30.0)]


def stage_combat_class(canvas: Canvas) -> None:
    """A metronome that counts; on its beats, swung and clashing swords and stamping feet."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(shaped_noise(n, rate, varied(_ROOM, rng), rng), -36)
    beat_s = 60.0 / rng.uniform(126.0, 152.0)
    start_s = -beat_s * rng.uniform(0.0, 4.0)
    tick_hz, ring_hz = rng.uniform(1050.0, 1350.0), rng.uniform(2300.0, 2900.0)
    tick, accent = (_tick(pitch_hz, rate, rng) for pitch_hz in (tick_hz, 1.5 * tick_hz))
    # Fight choreography: a phrase of four beats with its blows, repeated until it sits.
    blows = [0.0, *np.sort(rng.choice((0.5, 1.0, 1.5, 2.0, 2.5, 3.0), 4, replace=False))]
    stamps = [0.0, *np.sort(rng.choice((0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5), 5, replace=False))]
    for beat in range(int((canvas.duration_s - start_s) / beat_s) + 1):
        at = start_s + beat * beat_s
        canvas.add_event("metronome", at, tick if beat % 4 else accent, 3)
        for blow in blows:
            if int(blow) == beat % 4:
                contact_s = at + (blow % 1.0) * beat_s + rng.normal(0.0, 0.02)
                canvas.add_event("sword swish", contact_s - 0.16, _swish(rate, rng), -13)
                clash = blade_clash(ring_hz * rng.normal(1.0, 0.05), rate, rng)
                canvas.add_event("sword clash", contact_s, clash, -2)
        for stamp in stamps:
            if int(stamp) == beat % 4:
                stamp_s = at + (stamp % 1.0) * beat_s + rng.normal(0.0, 0.015)
                canvas.add_event("foot stamp", stamp_s, _stamp(rate, rng), -2)
    canvas.reverberate(0.8, -8.0, 4000.0)


def _tick(pitch_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.08 * rate)
    snap = burst(n, rate, [(800, -10.0), (2500, 0.0), (7000, -10.0)], 0.012, rng)
    return struck(n, rate, pitch_hz, WOOD, 0.06, rng) + 0.6 * snap


def _swish(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.18 * rate)
    low_hz = rng.uniform(900.0, 1300.0)
    arc = breakpoints(n, [(0.0, 0.0), (0.75, 1.0), (1.0, 0.0)])
    return band_noise(n, rate, low_hz, 2.5 * low_hz, rng) * arc**2


def _stamp(rate: int, rng: np.random.Generator) -> FloatArray:
    n = round(0.25 * rate)
    body_hz = rng.uniform(85.0, 110.0)
    boards = struck(n, rate, rng.uniform(160.0, 220.0), WOOD, 0.18, rng)
    sole = burst(n, rate, varied(_SOLE, rng), 0.07, rng)
    return thump(n, rate, 1.9 * body_hz, body_hz, 0.18) + 0.7 * boards + 0.7 * sole
