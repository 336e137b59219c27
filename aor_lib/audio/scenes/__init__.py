"""Procedural background scenes: events on a continuous bed, from a random generator alone.

A scene is data (params/scenes/ID.yaml, :mod:`aor_lib.config.scene`); :func:`render` makes it sound
with the named `SOUNDS` of the library. :func:`spectrum_matched_noise` makes the control that keeps
a scene's level and spectrum and drops everything that identifies it.
"""

from aor_lib.audio.scenes.engine import MAX_DURATION_S, Event, Soundscape, check, render
from aor_lib.audio.scenes.noise import spectrum_matched_noise
from aor_lib.audio.scenes.sounds import SOUNDS
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
    "render",
    "spectrum_matched_noise",
]
