"""The hash of everything that decides a stimulus: while it is unchanged, nothing is made again."""

from pathlib import Path

from aor_lib.audio.recordings.library import library_sha256
from aor_lib.config.params import PARAMS
from aor_lib.config.profile import Mixing
from aor_lib.config.records import content_hash
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.storage import assets

VERSION = 3
"""Counts the changes to what a clip sounds like: to speech, scenes, mixing or their files.

Raise it when the same specification gives other bytes; tests/stimuli/test_identity.py and, for
scenes, tests/audio/test_golden_scenes.py notice when that is forgotten.
"""
_SAID_OF_A_SCENE = {"scenario", "description", "calls"}
"""Nobody hears these in a clip; the rest of a scene's specification is part of its identity."""
_SAID_OF_AN_UTTERANCE = {
    "harmful_reading",
    "benign_reading",
    "about",
    "scenes",
    "threatening_scenes",
}
"""Notes of the design: the scene that was chosen, and the words, are what a stimulus is made of."""


def made_from(spec: StimulusSpec, settings: Mixing, library: Path | None) -> str:
    """Hash of everything that can change a stimulus' files or its manifest row."""
    unheard = _SAID_OF_A_SCENE if spec.condition.has_audio else set[str]()
    unmade = {"scene": unheard, "history_scene": unheard, "utterance": _SAID_OF_AN_UTTERANCE}
    parts: list[object] = [spec.model_dump(mode="json", exclude=unmade), settings.model_dump()]
    if spec.condition.has_audio:
        voice = PARAMS / "voices" / f"{spec.voice}.yaml"
        parts += [
            VERSION,
            assets.revision("kokoro"),
            voice.read_text(encoding="utf-8") if voice.is_file() else None,
            library_sha256(library) if library is not None else None,
        ]
    return content_hash(parts)
