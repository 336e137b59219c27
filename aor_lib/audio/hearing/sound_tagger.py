"""What is heard beside the words: the sounds and the speaker's emotion, and the scene.

:class:`SoundTagger` is a convolutional network that was trained on random mixtures of the scenes'
sounds, not on scenes: it tags a scene that it never met by the sounds in it. :func:`classify_scene`
is a logistic regression that was trained on every scene. ``reference/hearing`` trained both; their
weights ship with the library.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aor_lib.audio.hearing.transcription import Features, Spectrogram, one_thread
from aor_lib.storage.assets import Arrays

TAGGER_WEIGHTS = Path(__file__).parent / "weights" / "sound_tagger.npz"
SCENE_WEIGHTS = TAGGER_WEIGHTS.with_name("scenes.npz")
SEGMENTS = 8
"""Number of equal parts of a clip, each of which has tags of its own."""
QUIET, NOISE = "quiet", "noise"
"""Classes of the scene classifier that are no scene."""
_THRESHOLD = 0.02
_DECIMALS = 3

Probabilities = tuple[tuple[str, float], ...]
"""Names with their probabilities."""


@dataclass(frozen=True, order=True)
class SoundTags:
    """Probabilities of the sounds in each segment of a clip, and of the speaker's emotions."""

    segments: tuple[Probabilities, ...]
    emotion: Probabilities

    def top(self, count: int) -> list[str]:
        """Names of the most probable sounds over the whole clip, at most ``count``."""
        total: Counter[str] = Counter()
        for segment in self.segments:
            total.update(dict(segment))
        return [name for name, _ in total.most_common(count)]


class SoundTagger:
    """Tags a clip with the sounds in it and the speaker's emotion.

    Sounds are read from the spectrogram alone, since the output of Whisper's encoder keeps speech
    and little of short sounds; the emotion is read from both.

    Parameters
    ----------
    weights
        Arrays as ``reference/hearing`` trains them.
    """

    def __init__(self, weights: Arrays) -> None:
        from aor_lib.audio.hearing.tagger_network import TaggerNetwork

        self._network = TaggerNetwork.of(weights)

    def tag(self, encoded: Features, spectrogram: Spectrogram) -> SoundTags:
        """Tags of a clip, given as in :class:`~aor_lib.audio.hearing.transcription.Transcription`.

        Sounds of a probability below 0.02 are left out.
        """
        import torch

        frames = torch.from_numpy(spectrogram).float()[None]
        with one_thread(), torch.inference_mode():
            sounds, emotion = self._network(
                torch.from_numpy(encoded)[None], frames, torch.tensor([frames.shape[1]])
            )
        names = self._network.sounds
        return SoundTags(
            tuple(_named(names, of_one, _THRESHOLD) for of_one in sounds[0].sigmoid().tolist()),
            _named(self._network.moods, emotion[0].softmax(0).tolist()),
        )


@functools.cache
def sound_tagger() -> SoundTagger:
    """The sound tagger that the local models hear with."""
    return SoundTagger(_load(TAGGER_WEIGHTS))


def classify_scene(encoded: Features) -> str:
    """The id of the most probable scene, or ``quiet`` or ``noise``.

    ``encoded`` as in :class:`~aor_lib.audio.hearing.transcription.Transcription`.
    """
    model = _load(SCENE_WEIGHTS)
    mean, scale, weights, bias = (
        np.asarray(model[name], float) for name in ("mean", "scale", "weights", "bias")
    )
    scores = weights @ ((encoded - mean) / scale) + bias
    return str(model["classes"][scores.argmax()])


@functools.cache
def weights_revision(path: Path) -> str:
    """Short hash of a file of weights."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


@functools.cache
def _load(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def _named(names: Sequence[str], likely: Iterable[float], least: float = 0.0) -> Probabilities:
    pairs = zip(names, likely, strict=True)
    return tuple((name, round(p, _DECIMALS)) for name, p in pairs if p >= least)
