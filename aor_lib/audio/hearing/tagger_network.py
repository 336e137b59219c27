"""The sound tagger's network: convolutions over time and pitch, then a layer on each segment.

After the convolutional networks of sound event detection (Cakir et al., 2017,
https://arxiv.org/abs/1702.06286), without their recurrent layer. The mood, which is in the speech,
is read from the encoder's output as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from aor_lib.audio.hearing.sound_tagger import SEGMENTS
from aor_lib.audio.hearing.transcription import BANDS, ENCODED
from aor_lib.storage.assets import Arrays

_CHANNELS = (24, 48, 96, 128)
_STRIDES = ((1, 2), (2, 2), (2, 2), (1, 2))  # over time and pitch
_STEP = 4
"""Frames of the spectrogram for one of the last convolution."""
_FRAME, _HIDDEN = 256, 512
_DROPOUT, _HIDDEN_DROPOUT = 0.2, 0.3
_RARE = -4.0
"""Logit that every sound begins with: most are not heard."""


class TaggerNetwork(torch.nn.Module):
    """Gives the logits of ``sounds`` in each segment of a clip, and of the speaker's ``moods``."""

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
        torch.nn.init.constant_(self.of_sounds.bias, _RARE)

    @classmethod
    def of(cls, weights: Arrays) -> TaggerNetwork:
        """The network of these weights, ready to hear."""
        arrays = dict(weights)
        network = cls(arrays.pop("sounds").tolist(), arrays.pop("moods").tolist())
        network.load_state_dict({k: torch.from_numpy(array) for k, array in arrays.items()})
        return network.eval()

    def forward(
        self, encoded: torch.Tensor, spectrograms: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of sounds, ``(clips, SEGMENTS, sounds)``, and of moods, ``(clips, moods)``.

        The clips are given as in :class:`~aor_lib.audio.hearing.transcription.Transcription`:
        ``encoded``, ``(clips, ENCODED)``, and ``spectrograms``, ``(clips, frames, BANDS)``. Each
        clip has its first ``lengths`` frames.
        """
        maps = self.convolutions(spectrograms[:, None]).transpose(1, 2).flatten(2)
        maps = functional.dropout(maps, _DROPOUT, self.training)
        frames = functional.relu(self.frame(maps))
        places = _STEP * torch.arange(frames.shape[1])
        # Frames after a clip's end are of no segment.
        segments = SEGMENTS * places // lengths[:, None]
        of_segment = [(segments == number).float()[:, :, None] for number in range(SEGMENTS)]
        of_clip = (places < lengths[:, None]).float()[:, :, None]
        whole = _mean(frames, of_clip)
        pooled = [
            torch.cat([_mean(frames, one), (frames * one).amax(dim=1), whole], dim=1)
            for one in of_segment
        ]
        states = functional.dropout(torch.stack(pooled, dim=1), _DROPOUT, self.training)
        states = functional.gelu(self.hidden(states))
        states = functional.dropout(states, _HIDDEN_DROPOUT, self.training)
        inside = (torch.arange(spectrograms.shape[1]) < lengths[:, None]).float()[:, :, None]
        mean = _mean(spectrograms, inside)
        deviation = _mean((spectrograms - mean[:, None]) ** 2, inside).sqrt()
        voice = self.scale(torch.cat([encoded, mean, deviation], dim=1))
        moods = self.of_moods(torch.cat([states.mean(dim=1), voice], dim=1))
        return self.of_sounds(states), moods


def _mean(frames: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    return (frames * chosen).sum(dim=1) / chosen.sum(dim=1).clamp(min=1)
