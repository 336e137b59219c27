"""A speaker's gender, emotion and speech rate, from the output of Whisper's encoder.

Three logistic regressions on :func:`~aor_lib.audio.hearing.transcription.encoder_features`,
trained by the study itself on voices and sentences that no stimulus uses, in silence and over
procedural scenes. The weights ship with the library; :mod:`aor_lib.audio.hearing.speaker_training`
makes them again.
"""

from __future__ import annotations

import functools

import numpy as np

from aor_lib.audio.hearing import linear_classifier
from aor_lib.audio.hearing.linear_classifier import Features
from aor_lib.storage.cache import Arrays

WEIGHTS = linear_classifier.WEIGHTS / "speaker.npz"
TRAITS = ("gender", "emotion", "rate")


def classify(features: Features) -> dict[str, str]:
    """The most probable ``gender``, ``emotion`` and ``rate``, in the manifest's words."""
    return {
        trait: linear_classifier.classify(model, features)[0] for trait, model in _trained().items()
    }


def revision() -> str:
    """Short hash of the weights."""
    return linear_classifier.revision(WEIGHTS.stem)


@functools.cache
def _trained() -> dict[str, Arrays]:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return {
            trait: {
                name.removeprefix(f"{trait}."): stored[name]
                for name in stored.files
                if name.startswith(f"{trait}.")
            }
            for trait in TRAITS
        }
