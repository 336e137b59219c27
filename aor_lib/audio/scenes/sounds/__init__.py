"""The named sounds of scenes, by what makes them."""

from aor_lib.audio.scenes.library import SOUNDS
from aor_lib.audio.scenes.sounds import (  # noqa: F401 - they add to SOUNDS
    animals,
    blows,
    clatter,
    clicks,
    crowds,
    engines,
    fire,
    impacts,
    machines,
    music,
    noises,
    shots,
    tones,
    voices,
    water,
)

__all__ = ["SOUNDS"]
