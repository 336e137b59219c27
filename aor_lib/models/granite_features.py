"""Granite Speech's log-mel features, without torchaudio.

The same numbers as ``transformers.GraniteSpeechFeatureExtractor``, which computes them with
``torchaudio.transforms.MelSpectrogram`` at its defaults: power spectrogram of a periodic Hann
window, reflected at the ends; triangular filters on the HTK mel scale, not normalised.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import BatchFeature, SequenceFeatureExtractor
from transformers.audio_utils import mel_filter_bank

_FLOOR = 1e-10
_RANGE = 8.0
"""Decades below the loudest point that are kept."""


class GraniteFeatures(SequenceFeatureExtractor):
    """Clips to log-mel frames in pairs, and how many tokens the projector makes of each clip."""

    model_input_names = ["input_features"]  # noqa: RUF012 - as the base class has it

    def __init__(
        self,
        sampling_rate: int = 16_000,
        n_fft: int = 512,
        win_length: int = 400,
        hop_length: int = 160,
        n_mels: int = 80,
        projector_window_size: int = 15,
        projector_downsample_rate: int = 5,
        **kwargs: Any,
    ) -> None:
        kwargs = {"padding_value": 0.0, **kwargs, "feature_size": n_mels}
        super().__init__(sampling_rate=sampling_rate, **kwargs)
        self.n_fft, self.win_length, self.hop_length = n_fft, win_length, hop_length
        self.projector_window_size = projector_window_size
        self.projector_downsample_rate = projector_downsample_rate

    def __call__(self, audios: list[npt.NDArray[np.float32]], device: str = "cpu") -> Any:
        """Features of clips, each ``(samples,)``; shorter ones are padded with silence.

        ``input_features`` is float32, ``(clips, frames, 2 * n_mels)``; ``input_features_mask``,
        ``(clips, tokens)``, tells the tokens of a clip from those of padding.
        """
        clips = [torch.as_tensor(audio, dtype=torch.float32) for audio in audios]
        padded = torch.nn.utils.rnn.pad_sequence(clips, batch_first=True).to(device)
        tokens = [self._tokens(len(clip)) for clip in clips]
        mask = torch.arange(max(tokens)) < torch.tensor(tokens)[:, None]
        features = {"input_features": self._frames(padded), "input_features_mask": mask}
        return BatchFeature({**features, "audio_embed_sizes": tokens})

    def _frames(self, clips: torch.Tensor) -> torch.Tensor:
        window = torch.hann_window(self.win_length, device=clips.device)
        spectrum = torch.stft(
            clips, self.n_fft, self.hop_length, self.win_length, window, return_complex=True
        )
        filters = mel_filter_bank(
            self.n_fft // 2 + 1,
            self.feature_size,
            0.0,
            self.sampling_rate / 2,
            self.sampling_rate,
        )
        power = spectrum.abs().square().transpose(1, 2)
        mel = power @ torch.as_tensor(filters, dtype=torch.float32, device=clips.device)
        loudness = mel.clamp(min=_FLOOR).log10()
        loudest = loudness.amax(dim=(1, 2), keepdim=True)
        scaled = torch.maximum(loudness, loudest - _RANGE) / 4 + 1
        even = scaled[:, : scaled.shape[1] // 2 * 2]
        return even.reshape(len(clips), -1, 2 * self.feature_size)

    def _tokens(self, samples: int) -> int:
        frames = (samples // self.hop_length + 1) // 2
        windows = math.ceil(frames / self.projector_window_size)
        return windows * (self.projector_window_size // self.projector_downsample_rate)
