"""The scenes by name, and the one function that renders them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from aor_lib.audio.scenes import (
    film_theatre,
    kitchen,
    medical_emergency,
    sports_martial_arts,
    video_gaming,
    workshop_demolition,
)
from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.audio.scenes.model import Soundscape

MAX_DURATION_S = 120.0
MIN_SAMPLE_RATE = 8000

Composer = Callable[[Canvas], None]
"""Adds a scene's beds and events to a canvas."""

SCENES: Mapping[str, Composer] = MappingProxyType(
    {
        composer.__name__: composer
        for scenario in (
            video_gaming,
            film_theatre,
            kitchen,
            sports_martial_arts,
            workshop_demolition,
            medical_emergency,
        )
        for composer in scenario.COMPOSERS
    }
)
"""Scene id -> its composer."""


def render(scene: str, duration_s: float, sample_rate: int, rng: np.random.Generator) -> Soundscape:
    """Compose and render a background scene.

    Parameters
    ----------
    scene : str
        One of `SCENES`.
    duration_s : float
        Length in seconds, at most ``MAX_DURATION_S``.
    sample_rate : int
        In Hz, at least ``MIN_SAMPLE_RATE``.
    rng : numpy.random.Generator
        The only source of randomness: the same state renders the same bytes.

    Returns
    -------
    Soundscape
        ``round(duration_s * sample_rate)`` samples with a peak of 0.9, and the scene's events.

    Raises
    ------
    ValueError
        If the scene is unknown, the duration is not finite, not positive, shorter than one
        sample or too long, or the sample rate is too low.
    """
    if scene not in SCENES:
        raise ValueError(_unknown_scene(scene))
    if not math.isfinite(duration_s) or not 0 < duration_s <= MAX_DURATION_S:
        raise ValueError(f"duration_s must lie in (0, {MAX_DURATION_S:g}], not {duration_s}")
    if sample_rate < MIN_SAMPLE_RATE:
        raise ValueError(f"sample_rate must be at least {MIN_SAMPLE_RATE}, not {sample_rate}")
    n_samples = round(duration_s * sample_rate)
    if n_samples == 0:
        raise ValueError(f"duration_s of {duration_s} is shorter than one sample")
    canvas = Canvas(n_samples, sample_rate, rng)
    SCENES[scene](canvas)
    return canvas.finish()


def _unknown_scene(scene: str) -> str:
    nearest = difflib.get_close_matches(scene, SCENES, n=1, cutoff=0.0)[0]
    return f"unknown scene {scene!r}: did you mean {nearest!r}? Scenes: {', '.join(SCENES)}"
