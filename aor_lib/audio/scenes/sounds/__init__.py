"""The named sounds of scenes, by what makes them; importing this puts them all in the library."""

from aor_lib.audio.scenes.sounds import impacts, machines, music, noises, tones, voices

__all__ = ["impacts", "machines", "music", "noises", "tones", "voices"]
