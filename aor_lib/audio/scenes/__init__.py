"""Background scenes: events on a continuous bed, from a random generator and a sound bank.

A scene is data (params/scenes/ID.yaml, :mod:`aor_lib.config.scene`), made of named `SOUNDS` where
no recording is at hand.
:func:`spectrum_matched_noise` is the control that keeps a scene's level and spectrum alone.
"""

from aor_lib.audio.scenes.engine import (
    MAX_DURATION_S,
    Event,
    Soundscape,
    render,
    spectrum_matched_noise,
)
from aor_lib.audio.scenes.sounds import SOUNDS
from aor_lib.audio.scenes.sources import check, recordings_of
from aor_lib.config.params import scene_ids

SCENES = scene_ids()
"""Ids of the scenes of params/scenes, in alphabetical order."""

__all__ = [
    "MAX_DURATION_S",
    "SCENES",
    "SOUNDS",
    "Event",
    "Soundscape",
    "check",
    "recordings_of",
    "render",
    "spectrum_matched_noise",
]
