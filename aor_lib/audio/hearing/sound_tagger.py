"""Sound tagger: probabilities of the sounds in a clip and of the speaker's emotion.

It was trained on random mixtures of the scenes' sounds, not on scenes (``reference/hearing``).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from aor_lib.audio.hearing import WEIGHTS
from aor_lib.audio.hearing.transcription import BANDS, ENCODED, Features, Spectrogram, one_thread
from aor_lib.storage.assets import Arrays

SEGMENTS = 8  # equal parts of a clip, each tagged separately
_THRESHOLD = 0.02
_CHANNELS = (24, 48, 96, 128)
_STRIDES = ((1, 2), (2, 2), (2, 2), (1, 2))  # over time and frequency
_STEP = 4  # spectrogram frames per output frame of the last convolution
_FRAME, _HIDDEN = 256, 512
_DROPOUT, _HIDDEN_DROPOUT = 0.2, 0.3

Probabilities = tuple[tuple[str, float], ...]  # names with their probabilities


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


class SoundTagger(torch.nn.Module):
    """Convolutions over time and frequency, then a dense layer on each segment of a clip.

    Sounds are predicted from the spectrogram alone, emotions also from Whisper's encoder. Based on
    Cakir et al. (2017), https://arxiv.org/abs/1702.06286, but without the recurrent layer.
    """

    def __init__(self, sounds: Sequence[str], moods: Sequence[str]) -> None:
        super().__init__()
        self.sounds, self.moods = sounds, moods
        layers: list[torch.nn.Module] = [torch.nn.BatchNorm2d(1)]
        bands = BANDS
        for before, after, stride in zip((1, *_CHANNELS), _CHANNELS, _STRIDES, strict=False):
            convolution = torch.nn.Conv2d(before, after, 3, stride, padding=1)
            layers += [convolution, torch.nn.BatchNorm2d(after), torch.nn.ReLU()]
            bands = (bands + 1) // 2
        self.convolutions = torch.nn.Sequential(*layers)
        self.frame = torch.nn.Linear(_CHANNELS[-1] * bands, _FRAME)
        self.hidden = torch.nn.Linear(3 * _FRAME, _HIDDEN)
        self.of_sounds = torch.nn.Linear(_HIDDEN, len(sounds))
        self.scale = torch.nn.BatchNorm1d(ENCODED + 2 * BANDS, affine=False)
        self.of_moods = torch.nn.Linear(_HIDDEN + ENCODED + 2 * BANDS, len(moods))

    @classmethod
    def of(cls, weights: Arrays) -> SoundTagger:
        """Make a tagger from its weights, in evaluation mode."""
        arrays = dict(weights)
        tagger = cls(arrays.pop("sounds").tolist(), arrays.pop("moods").tolist())
        tagger.load_state_dict({k: torch.from_numpy(array) for k, array in arrays.items()})
        return tagger.eval()

    def tag(self, encoded: Features, spectrogram: Spectrogram) -> SoundTags:
        """Tags of a clip, from its :class:`~aor_lib.audio.hearing.transcription.Transcription`.

        Sounds with a probability below 0.02 are left out.
        """
        frames = torch.from_numpy(spectrogram).float()[None]
        with one_thread(), torch.inference_mode():
            lengths = torch.tensor([frames.shape[1]])
            sounds, moods = self(torch.from_numpy(encoded)[None], frames, lengths)
        return SoundTags(
            tuple(_named(self.sounds, row, _THRESHOLD) for row in sounds[0].sigmoid().tolist()),
            _named(self.moods, moods[0].softmax(0).tolist(), 0.0),
        )

    def forward(
        self, encoded: torch.Tensor, spectrograms: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of sounds, ``(clips, SEGMENTS, sounds)``, and of moods, ``(clips, moods)``.

        ``encoded`` is ``(clips, ENCODED)`` and ``spectrograms`` is ``(clips, frames, BANDS)``, of
        which the first ``lengths`` frames are valid in each clip.
        """
        maps = self.convolutions(spectrograms[:, None]).transpose(1, 2).flatten(2)
        maps = functional.dropout(maps, _DROPOUT, self.training)
        frames = functional.relu(self.frame(maps))
        places = _STEP * torch.arange(frames.shape[1])
        # Frames after a clip's end belong to no segment.
        segments = SEGMENTS * places // lengths[:, None]
        of_segment = [(segments == number).float()[:, :, None] for number in range(SEGMENTS)]
        whole = _mean(frames, (places < lengths[:, None]).float()[:, :, None])
        pooled = [
            torch.cat([_mean(frames, share), (frames * share).amax(dim=1), whole], dim=1)
            for share in of_segment
        ]
        states = functional.dropout(torch.stack(pooled, dim=1), _DROPOUT, self.training)
        states = functional.gelu(self.hidden(states))
        states = functional.dropout(states, _HIDDEN_DROPOUT, self.training)
        inside = (torch.arange(spectrograms.shape[1]) < lengths[:, None]).float()[:, :, None]
        mean = _mean(spectrograms, inside)
        deviation = _mean((spectrograms - mean[:, None]) ** 2, inside).sqrt()
        voice = self.scale(torch.cat([encoded, mean, deviation], dim=1))
        return self.of_sounds(states), self.of_moods(torch.cat([states.mean(dim=1), voice], dim=1))


@functools.cache
def sound_tagger() -> SoundTagger:
    """Load the sound tagger of the local models."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return SoundTagger.of(dict(stored))


def _mean(frames: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    return (frames * chosen).sum(dim=1) / chosen.sum(dim=1).clamp(min=1)


def _named(names: Sequence[str], likely: Iterable[float], least: float) -> Probabilities:
    return tuple((name, round(p, 3)) for name, p in zip(names, likely, strict=True) if p >= least)
