"""The named sounds of scenes, by what makes them."""

from aor_lib.audio.scenes.library import SOUNDS
from aor_lib.audio.scenes.sounds import blows, impacts, machines, music, noises, tones, voices

__all__ = ["SOUNDS", "blows", "impacts", "machines", "music", "noises", "tones", "voices"]
