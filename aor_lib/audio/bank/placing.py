"""A recording cut or repeated to the length of its place in a scene."""

import numpy as np

from aor_lib.audio.mixing import Samples
from aor_lib.audio.speech.voice import SAMPLE_RATE

_MAX_EVENT_S = 4.0
_EDGE_S = 0.005
_CROSS_FADE_S = 0.25
_QUIET = 0.3  # of the recording's RMS


def as_event(samples: Samples, rng: np.random.Generator) -> Samples:
    """A recording of up to four seconds as it is, or so much of a longer one."""
    n_samples = round(_MAX_EVENT_S * SAMPLE_RATE)
    if len(samples) <= n_samples:
        return _faded(samples, _EDGE_S)
    return _faded(_excerpt(samples, n_samples, rng), _CROSS_FADE_S)


def as_bed(samples: Samples, n_samples: int, rng: np.random.Generator) -> Samples:
    """``n_samples`` of a recording, which is repeated with cross-fades if it is shorter."""
    if len(samples) >= n_samples:
        return _excerpt(samples, n_samples, rng)
    faded = _faded(samples, _CROSS_FADE_S)
    period = len(samples) - round(_CROSS_FADE_S * SAMPLE_RATE)
    end = period + n_samples
    looped = np.zeros(end + len(samples), np.float32)
    for at in range(0, end, period):
        looped[at : at + len(samples)] += faded
    start = round(_CROSS_FADE_S * SAMPLE_RATE) + int(rng.integers(period))
    return looped[start : start + n_samples]


def _excerpt(samples: Samples, n_samples: int, rng: np.random.Generator) -> Samples:
    last = len(samples) - n_samples
    start = int(rng.integers(last, endpoint=True))
    power = np.square(samples, dtype=np.float64)
    if power[start : start + n_samples].mean() < _QUIET**2 * power.mean():
        start = int(np.clip(power.argmax() - n_samples // 2, 0, last))
    return samples[start : start + n_samples]


def _faded(samples: Samples, fade_s: float) -> Samples:
    # A quarter of a sine at both ends: two such fades that overlap keep the power.
    n_fade = min(round(fade_s * SAMPLE_RATE), len(samples) // 2)
    ramp = np.sin(np.linspace(0, np.pi / 2, n_fade, dtype=np.float32))
    window = np.concatenate([ramp, np.ones(len(samples) - 2 * n_fade, np.float32), ramp[::-1]])
    faded: Samples = samples * window
    return faded
