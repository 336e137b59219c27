"""Acoustic scene classification of clips, trained by ``reference/hearing``, and its weights."""

import functools
import hashlib
from pathlib import Path

import numpy as np

from aor_lib.audio.hearing.transcription import Features
from aor_lib.storage.assets import Arrays

SCENE_WEIGHTS = Path(__file__).parent / "weights" / "scenes.npz"
TAGGER_WEIGHTS = SCENE_WEIGHTS.with_name("sound_tagger.npz")
QUIET, NOISE = "quiet", "noise"
"""Classes that are no scene."""


def classify_scene(encoded: Features) -> str:
    """Id of the most probable scene, or ``quiet`` or ``noise``, from ``Transcription.encoded``."""
    model = load_weights(SCENE_WEIGHTS)
    mean, scale, weights, bias = (
        np.asarray(model[name], float) for name in ("mean", "scale", "weights", "bias")
    )
    scores = weights @ ((encoded - mean) / scale) + bias
    return str(model["classes"][scores.argmax()])


@functools.cache
def load_weights(path: Path) -> Arrays:
    """Arrays of a file of weights, by name."""
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


@functools.cache
def weights_revision(path: Path) -> str:
    """Short hash of a file of weights."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
