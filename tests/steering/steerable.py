"""A model that can be steered, small enough to know by heart."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import torch

from aor_lib.config.params import ModelCard
from aor_lib.models.base import Answer, Capabilities, Conversation

WIDTH = 48
LAYERS = 4
SOUNDS_HARMFUL, IS_HARMFUL, ASKS = 0, 1, 2
"""What three dimensions of the residual stream say of a request."""
REFUSES, HELPS = 0, 1
"""The vocabulary: how an answer begins."""
ANSWERS = ("I'm sorry, but I can't help with that.", "Sure! First you open the box, then you stir.")


class Layer(torch.nn.Module):
    """Hands the stream on."""

    def forward(self, stream: torch.Tensor) -> torch.Tensor:
        return stream


class Steerable:
    """Refuses whatever sounds harmful, though it knows in another dimension what is.

    ``intent_of`` tells what a conversation's last turn means, by the name of its clip.
    """

    revision = "1"
    capabilities = Capabilities(activations=True)

    def __init__(self, intent_of: Callable[[str], str], name: str = "steerable") -> None:
        self.card = ModelCard(
            id=name, title="", family="", kind="cascade", licence="", source="", settings={}
        )
        self._intent_of = intent_of
        self._layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))

    def decoder_layers(self):
        return self._layers

    def logits(self, conversation: Conversation) -> torch.Tensor:
        return self._read([conversation])[0]

    def answer(self, conversations, generation):
        chosen = self._read(conversations).argmax(dim=1)
        return [Answer(ANSWERS[token], 10) for token in chosen.tolist()]

    def _read(self, conversations) -> torch.Tensor:
        stream = torch.stack([self._embedded(conversation) for conversation in conversations])
        for layer in self._layers:
            stream = layer(stream)
        refusing = 4 * stream[:, -1, SOUNDS_HARMFUL] - 2
        return torch.stack([refusing, -refusing], dim=1)

    def _embedded(self, conversation: Conversation) -> torch.Tensor:
        turn = conversation[-1]
        name = turn.audio.stem if turn.audio is not None else str(turn.text)
        intent = self._intent_of(name)
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        tokens = rng.normal(0, 0.1, (3, WIDTH))
        tokens[:, SOUNDS_HARMFUL] += intent != "benign"
        tokens[:, IS_HARMFUL] += intent == "harmful"
        tokens[:, ASKS] += 1
        return torch.from_numpy(tokens.astype(np.float32))
