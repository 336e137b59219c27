"""A treatment at the dentist's."""

from __future__ import annotations

import numpy as np

from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.envelopes import breakpoints, fade, pulses, wander
from aor_lib.audio.scenes.foley import bubbles, suction
from aor_lib.audio.scenes.model import FloatArray
from aor_lib.audio.scenes.textures import band_noise, shaped_noise, varied
from aor_lib.audio.scenes.timing import scattered
from aor_lib.audio.scenes.tones import oscillator

_EJECTOR = [(250, -12.0), (700, 0.0), (1600, -2.0), (4000, -10.0), (9000, -26.0)]
_TURBINE_AIR = [(1500, -20.0), (4000, -4.0), (7000, 0.0), (11000, -6.0)]


def dental_surgery(canvas: Canvas) -> None:
    """A turbine's whine, the saliva ejector's slurp throughout, and rinsing."""
    n, rate, rng = canvas.n_samples, canvas.sample_rate, canvas.rng
    canvas.add_bed(suction(n, rate, varied(_EJECTOR, rng), rng, slurp_gain=3.0), -19)
    pump = oscillator(np.full(n, rng.uniform(140.0, 180.0)), rate, (1.0, 0.5, 0.3))
    canvas.add_bed(pump, -31)
    turbine_hz, onset = rng.uniform(3600.0, 4700.0), 0.0
    while onset < canvas.duration_s:
        seconds = rng.uniform(0.8, 1.5)
        canvas.add_event("drill", onset, _drill(seconds, turbine_hz, rate, rng), -4)
        onset += seconds + rng.uniform(0.05, 0.35)
    for onset in scattered(canvas.duration_s, 1.6, rng):
        canvas.add_event("rinsing", onset, _rinse(rate, rng), -3)
    canvas.reverberate(0.35, -11.0, 6000.0)


def _drill(seconds: float, full_hz: float, rate: int, rng: np.random.Generator) -> FloatArray:
    """Air turbine: a thin whine that sinks whenever the burr meets the tooth."""
    n = round(seconds * rate)
    touches = np.maximum(0.0, wander(n, rate, 5.0, rng))
    spin = breakpoints(n, [(0.0, 0.6), (0.12, 1.0), (0.85, 1.0), (1.0, 0.5)])
    speed = full_hz * spin * (1.0 - 0.22 * touches)
    whine = oscillator(speed, rate, (1.0, 0.35), rng.uniform())
    # A subharmonic of the worn bearing carries the whine down to where speech is.
    bearing = oscillator(speed / 3, rate, (1.0, 0.4, 0.0, 0.3))
    air = shaped_noise(n, rate, varied(_TURBINE_AIR, rng), rng)
    grit = band_noise(n, rate, 1500.0, 5000.0, rng) * touches
    return fade(whine + 0.3 * bearing + 0.2 * air + 0.6 * grit, rate, 0.05, 0.1)


def _rinse(rate: int, rng: np.random.Generator) -> FloatArray:
    """Water that is gargled in the throat, some ten times a second."""
    n = round(rng.uniform(0.7, 1.2) * rate)
    throat = pulses(np.full(n, rng.uniform(8.0, 13.0)), rate, 2.0, rng.uniform())
    gargled = bubbles(40.0 + 260.0 * throat, rate, 380.0, 1300.0, rng)
    return fade(gargled, rate, 0.08, 0.15)
