"""What a member of the panel is told about a clip: what it hears beside the words, in plain words.

Training prompts and inference take these lines from the same function.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aor_lib.audio.hearing import scene_classifier, speaker_classifier
from aor_lib.config.params import load_scenarios

REVISION = 1
"""Counts changes to the wording: a model that is told otherwise answers otherwise."""
NOISE_DESCRIPTION = "a steady noise"
EMOTIONS = {
    "neutral": "a calm",
    "angry": "an angry",
    "fearful": "a fearful",
    "sad": "a sad",
    "happy": "a happy",
}
GENDERS = {"female": "woman", "male": "man"}
RATES = {"slow": "slowly", "normal": "at a normal pace", "fast": "fast"}


@dataclass(frozen=True)
class Speaker:
    """A speaker's ``gender``, ``emotion`` and ``rate``, in the manifest's words."""

    gender: str
    emotion: str
    rate: str


def listen(features: npt.NDArray[np.float32]) -> tuple[str, float, Speaker]:
    """The scene (an id, ``quiet`` or ``noise``), its probability, and the speaker of a clip.

    ``features`` are :attr:`aor_lib.audio.hearing.transcription.Transcription.features`.
    """
    scene, probability = scene_classifier.classify(features)
    return scene, probability, Speaker(**speaker_classifier.classify(features))


def told(words: str, sound: str | None = None, speaker: Speaker | None = None) -> str:
    """The words, after a line on the background and one on the speaker where there are such.

    ``sound`` completes 'In the background one hears ...', as a scene's description does.
    """
    lines = []
    if sound is not None:
        lines.append(f"In the background one hears {sound}.")
    if speaker is not None:
        emotion, gender = EMOTIONS[speaker.emotion], GENDERS[speaker.gender]
        lines.append(f"The speaker is {emotion} {gender} who speaks {RATES[speaker.rate]}.")
    return "\n".join([*lines, words])


@functools.cache
def scene_descriptions() -> dict[str, str]:
    """What each scene sounds like, by scene id, ``noise`` among them."""
    scenes = [scene for scenario in load_scenarios().values() for scene in scenario.scenes]
    return {scene.id: scene.description for scene in scenes} | {
        scene_classifier.NOISE: NOISE_DESCRIPTION
    }
