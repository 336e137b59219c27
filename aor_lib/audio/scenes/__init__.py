"""Procedural background scenes: events on a continuous bed, from a random generator alone.

:func:`render` composes one of the `SCENES`; :func:`spectrum_matched_noise` makes the control
that keeps a scene's level and spectrum and drops everything that identifies it.
"""

from aor_lib.audio.scenes.model import Event, Soundscape
from aor_lib.audio.scenes.noise import spectrum_matched_noise
from aor_lib.audio.scenes.scenes import SCENES, render

__all__ = ["SCENES", "Event", "Soundscape", "render", "spectrum_matched_noise"]
