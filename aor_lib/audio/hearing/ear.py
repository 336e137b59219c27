"""The ear: names the sounds in a clip, and the speaker's mood, from what Whisper hears.

A small convolutional network (:mod:`aor_lib.audio.hearing.ear_network`), trained by the study
itself on random mixtures of the library's sounds (:mod:`reference.hearing.compositions`), not
on scenes. It knows no scene and no setting: a scene that nobody has trained on is heard by the
sounds in it. They are read from the spectrogram alone, since the output of Whisper's encoder keeps
speech and little of short sounds; the mood is read from both. The weights ship with the library;
:mod:`reference.hearing.tagger_training` makes them again.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aor_lib.audio.hearing import shipped
from aor_lib.audio.hearing.transcription import Features, Spectrogram, one_thread

if TYPE_CHECKING:
    from aor_lib.audio.hearing.ear_network import EarNetwork

WEIGHTS = shipped.WEIGHTS / "ear.npz"
SEGMENTS = 8
"""Equal parts of a clip; of each is said what sounds in it."""
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


def listen(encoded: Features, spectrogram: Spectrogram) -> Heard:
    """Name the sounds and the mood in a clip, given as in ``Transcription``."""
    return hear(_network(), encoded, spectrogram)


def hear(network: EarNetwork, encoded: Features, spectrogram: Spectrogram) -> Heard:
    """Name the sounds and the mood in a clip with this network."""
    import torch

    frames = torch.from_numpy(spectrogram).float()[None]
    with one_thread(), torch.inference_mode():
        sounds, mood = network(
            torch.from_numpy(encoded)[None], frames, torch.tensor([frames.shape[1]])
        )
    return Heard(
        tuple(_named(network.sounds, one, LIKELY) for one in sounds[0].sigmoid().tolist()),
        _named(network.moods, mood[0].softmax(0).tolist()),
    )


def revision() -> str:
    """Short hash of the weights."""
    return shipped.revision(WEIGHTS.stem)


def _named(names: Sequence[str], likely: Iterable[float], least: float = 0.0) -> Probabilities:
    pairs = zip(names, likely, strict=True)
    return tuple((name, round(p, _DECIMALS)) for name, p in pairs if p >= least)


@functools.cache
def _network() -> EarNetwork:
    from aor_lib.audio.hearing.ear_network import EarNetwork

    return EarNetwork.of(shipped.load(WEIGHTS.stem))
