"""The ear: names the sounds in a clip, and the speaker's mood, from Whisper's features.

A perceptron of one hidden layer on the features of each segment beside those of the whole clip
(:class:`~aor_lib.audio.hearing.transcription.Transcription`), trained by the study itself on random
mixtures of the library's sounds (:mod:`aor_lib.audio.hearing.compositions`), not on scenes. It
knows no scene and no setting: a scene that nobody has trained on is heard by the sounds in it. The
weights ship with the library; :mod:`aor_lib.audio.hearing.ear_training` makes them again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used

from aor_lib.audio.hearing import shipped
from aor_lib.audio.hearing.transcription import SEGMENTS, Features
from aor_lib.storage.cache import Arrays

WEIGHTS = shipped.WEIGHTS / "ear.npz"
LIKELY = 0.02
"""Sounds that are less probable are not heard."""
_DECIMALS = 3


Probabilities = tuple[tuple[str, float], ...]
"""Names with their probabilities."""


@dataclass(frozen=True, order=True)
class Heard:
    """The sounds that are heard in each segment of a clip, and the speaker's mood."""

    segments: tuple[Probabilities, ...]
    mood: Probabilities

    def likeliest(self, count: int) -> list[str]:
        """Names of the sounds that are heard most over the whole clip, at most ``count``."""
        total: Counter[str] = Counter()
        for segment in self.segments:
            total.update(dict(segment))
        return [name for name, _ in total.most_common(count)]


def listen(features: Features) -> Heard:
    """Name the sounds and the mood in a clip of these features, as ``Transcription`` has them."""
    weights = shipped.load(WEIGHTS.stem)
    sounds, mood = outputs(weights, inputs(features)[None])
    return named(weights, sounds, mood)[0]


def named(weights: Arrays, sounds: Features, moods: Features) -> list[Heard]:
    """The logits of clips (see :func:`outputs`) with their names, less what is not heard."""
    names, kinds = weights["sounds"].tolist(), weights["moods"].tolist()

    def probable(row: Features) -> Probabilities:
        likely = np.flatnonzero(row >= LIKELY)
        return tuple((names[n], round(float(row[n]), _DECIMALS)) for n in likely)

    return [
        Heard(
            tuple(probable(row) for row in of_clip),
            tuple((kind, round(float(p), _DECIMALS)) for kind, p in zip(kinds, mood, strict=True)),
        )
        for of_clip, mood in zip(
            scipy.special.expit(sounds), scipy.special.softmax(moods, axis=1), strict=True
        )
    ]


def inputs(features: Features) -> Features:
    """Features of each segment beside those of the whole clip: float32, ``(SEGMENTS, 2176)``."""
    whole = np.broadcast_to(features[SEGMENTS], features[:SEGMENTS].shape)
    return np.concatenate([features[:SEGMENTS], whole], axis=1)


def outputs(weights: Arrays, batch: Features) -> tuple[Features, Features]:
    """Logits of the sounds, ``(clips, SEGMENTS, sounds)``, and of moods, ``(clips, moods)``."""
    w = {name: np.asarray(weights[name], np.float32) for name in _NUMBERS}
    scaled = (batch - w["mean"]) / w["scale"]
    hidden = scaled @ w["hidden"] + w["hidden_bias"]
    hidden = (
        np.float32(0.5) * hidden * (1 + scipy.special.erf(hidden / np.float32(np.sqrt(2.0))))
    )  # GELU
    sounds: Features = hidden @ w["out"] + w["out_bias"]
    moods: Features = hidden.mean(axis=1) @ w["mood"] + w["mood_bias"]
    return sounds, moods


def revision() -> str:
    """Short hash of the weights."""
    return shipped.revision(WEIGHTS.stem)


_NUMBERS = ("mean", "scale", "hidden", "hidden_bias", "out", "out_bias", "mood", "mood_bias")
