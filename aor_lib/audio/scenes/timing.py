"""When events happen: steady pulses and scattered occurrences."""

from __future__ import annotations

import numpy as np


def steady(
    duration_s: float, period_s: float, rng: np.random.Generator, jitter: float = 0.05
) -> list[float]:
    """Onsets of something rhythmic, entered at a random point of its period.

    Parameters
    ----------
    duration_s : float
        Length of the clip in seconds.
    period_s : float
        Time between onsets in seconds.
    rng : numpy.random.Generator
        Draws the entry and the jitter.
    jitter : float, default 0.05
        Largest deviation of an onset from the pulse, as a fraction of the period (below 0.5).

    Returns
    -------
    list of float
        Ascending onsets in seconds, all in [0, duration_s).
    """
    pulse = np.arange(rng.uniform(), duration_s / period_s + 1.0) * period_s
    onsets = pulse + rng.uniform(-jitter, jitter, pulse.size) * period_s
    return [float(onset) for onset in onsets if 0 <= onset < duration_s]


def scattered(duration_s: float, mean_gap_s: float, rng: np.random.Generator) -> list[float]:
    """Onsets of something irregular, with gaps of half to one and a half times their mean.

    The gaps are bounded, unlike those of a Poisson process, so that no long stretch of a scene
    lacks the event; the first comes within half a mean gap.

    Returns
    -------
    list of float
        Ascending onsets in seconds, all in [0, duration_s).
    """
    n_gaps = int(duration_s / (0.5 * mean_gap_s)) + 1
    gaps = rng.uniform(0.5, 1.5, n_gaps) * mean_gap_s
    onsets = rng.uniform(0.0, 0.5 * mean_gap_s) + np.concatenate([[0.0], np.cumsum(gaps)])
    return [float(onset) for onset in onsets if onset < duration_s]


def bounces(first_gap_s: float, restitution: float, n_bounces: int) -> list[tuple[float, float]]:
    """When and how hard something dropped hits the ground, again and again.

    Parameters
    ----------
    first_gap_s : float
        Time from the first to the second hit, in seconds.
    restitution : float
        What is left of the speed after a hit, in (0, 1); gaps and amplitudes both shrink with it.
    n_bounces : int
        How many hits, at least 1.

    Returns
    -------
    list of (float, float)
        Offsets from the first hit in seconds, ascending, and amplitudes relative to it.
    """
    left = restitution ** np.arange(n_bounces)
    offsets = np.concatenate([[0.0], np.cumsum(first_gap_s * left)])
    return [(float(at), float(gain)) for at, gain in zip(offsets, left, strict=False)]
