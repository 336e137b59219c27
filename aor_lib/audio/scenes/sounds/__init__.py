"""The named sounds of scenes: each module of this folder adds its own to SOUNDS."""

import importlib
import pkgutil

from aor_lib.audio.scenes.library import SOUNDS

for module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(module.name)

__all__ = ["SOUNDS"]
