"""The named sounds of scenes, by what makes them."""

from aor_lib.audio.scenes.library import SOUNDS
from aor_lib.audio.scenes.sounds import (
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

__all__ = [
    "SOUNDS",
    "animals",
    "blows",
    "clatter",
    "clicks",
    "crowds",
    "engines",
    "fire",
    "impacts",
    "machines",
    "music",
    "noises",
    "shots",
    "tones",
    "voices",
    "water",
]
