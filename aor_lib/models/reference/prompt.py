"""A clip in plain words, as a reference model reads it: background, speaker and transcript.

Training prompts and inference take these lines from the same function.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from aor_lib.audio.hearing import scene_classifier
from aor_lib.config.params import load_scenes
from aor_lib.config.records import content_hash

VERSION = 1
"""Raised with every change to the wording; part of :func:`revision`."""
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


def format_prompt(words: str, sound: str | None = None, speaker: Speaker | None = None) -> str:
    """Put a line on the background and one on the speaker before the words.

    Parameters
    ----------
    words
        What is said.
    sound
        Completes 'In the background one hears ...', as a scene's description does; None: no line.
    speaker
        None: no line.

    Examples
    --------
    >>> print(format_prompt("How late is it?", "rain", Speaker("female", "neutral", "fast")))
    In the background one hears rain.
    The speaker is a calm woman who speaks fast.
    How late is it?
    """
    lines = []
    if sound is not None:
        lines.append(f"In the background one hears {sound}.")
    if speaker is not None:
        emotion, gender = EMOTIONS[speaker.emotion], GENDERS[speaker.gender]
        lines.append(f"The speaker is {emotion} {gender} who speaks {RATES[speaker.rate]}.")
    return "\n".join([*lines, words])


def revision() -> str:
    """Changes with the wording, and with the descriptions of scenes that can stand in it."""
    return f"{VERSION}-{content_hash(scene_descriptions())[:8]}"


@functools.cache
def scene_descriptions() -> dict[str, str]:
    """Descriptions of the scenes by scene id, with ``noise`` among them."""
    described = {name: scene.description for name, scene in load_scenes().items()}
    return described | {scene_classifier.NOISE: NOISE_DESCRIPTION}
