"""Names the scene of a clip from what Whisper's encoder heard (acoustic scene classification).

A logistic regression on :func:`~aor_lib.audio.hearing.transcription.encoder_features`, trained by
the study itself on procedural scenes from seeds that no stimulus uses, under speech of sentences
that no stimulus says. ``quiet`` (no background) and ``noise`` (steady noise) are classes of their
own. The weights ship with the library (:data:`WEIGHTS`);
:mod:`aor_lib.audio.hearing.scene_training` makes them again.
"""

from __future__ import annotations

import functools

import numpy as np

from aor_lib.audio.hearing import linear_classifier
from aor_lib.audio.hearing.transcription import ENCODED, Features
from aor_lib.storage.cache import Arrays

WEIGHTS = linear_classifier.WEIGHTS / "scenes.npz"
QUIET, NOISE = "quiet", "noise"


def classify(features: Features) -> tuple[str, float]:
    """The most probable scene id (or ``quiet`` or ``noise``) and its probability."""
    return linear_classifier.classify(_trained(), whole_clip(features))


def whole_clip(features: Features) -> Features:
    """The part of a clip's features that decides: the encoder's output over the whole clip."""
    return features[-1, :ENCODED]


def revision() -> str:
    """Short hash of the weights."""
    return linear_classifier.revision(WEIGHTS.stem)


@functools.cache
def _trained() -> Arrays:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
