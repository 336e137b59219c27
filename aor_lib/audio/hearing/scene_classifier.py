"""Names the scene of a clip from what Whisper's encoder heard (acoustic scene classification).

A logistic regression on :attr:`~aor_lib.audio.hearing.transcription.Transcription.encoded`, trained
by the study itself on procedural scenes from seeds that no stimulus uses, under speech of sentences
that no stimulus says. ``quiet`` (no background) and ``noise`` (steady noise) are classes of their
own. The weights ship with the library (:data:`WEIGHTS`);
:mod:`reference.hearing.scene_training` makes them again.
"""

from __future__ import annotations

import numpy as np

from aor_lib.audio.hearing import shipped
from aor_lib.audio.hearing.transcription import Features

WEIGHTS = shipped.WEIGHTS / "scenes.npz"
QUIET, NOISE = "quiet", "noise"


def classify(encoded: Features) -> str:
    """The id of the most probable scene, or ``quiet`` or ``noise``."""
    model = shipped.load(WEIGHTS.stem)
    mean, scale, weights, bias = (
        np.asarray(model[name], float) for name in ("mean", "scale", "weights", "bias")
    )
    scores = weights @ ((encoded - mean) / scale) + bias
    return str(model["classes"][scores.argmax()])
