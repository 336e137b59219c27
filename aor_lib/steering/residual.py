"""The residual stream at the decoder layers: read and changed by forward hooks.

A layer's output is ``(batch, tokens, width)``, alone or first of a tuple. Gemma 3n's is
``(4, batch, tokens, width)``; the first of the four streams is the one that its layers work on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import torch

from aor_lib.models.base import AudioModel, Conversation, Turn

_STREAMS = 4
"""Dimensions of an output that holds several streams."""


class OpenModel(AudioModel, Protocol):
    """A model whose ``capabilities.activations`` holds."""

    def decoder_layers(self) -> torch.nn.ModuleList:
        """The language model's layers, first to last."""
        ...

    def logits(self, conversation: Conversation) -> torch.Tensor:
        """Of the first token of the answer: float32, ``(vocabulary,)``."""
        ...


Change = Callable[[torch.Tensor], torch.Tensor | None]
"""Gets a layer's residual stream ``(batch, tokens, width)``; returns the one to go on with, or None
to leave it as it is."""


@contextmanager
def hooked(layers: torch.nn.ModuleList, changes: Mapping[int, Change]) -> Iterator[None]:
    """Give the output of some layers, by their place, to functions that may change it.

    However the block ends, the hooks are gone afterwards and the model is what it was.
    """
    handles = [
        layers[place].register_forward_hook(_hook(change)) for place, change in changes.items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def width(model: OpenModel) -> int:
    """Of the residual stream, as one layer gives it for a word."""
    found: list[int] = []
    with hooked(model.decoder_layers()[:1], {0: lambda stream: found.append(stream.shape[-1])}):
        model.logits((Turn("user", text="Hello"),))
    return found[0]


def _hook(change: Change) -> Callable[[Any, Any, Any], Any]:
    def on_output(_: Any, __: Any, output: Any) -> Any:
        whole = output[0] if isinstance(output, tuple) else output
        several = whole.dim() == _STREAMS
        changed = change(whole[0] if several else whole)
        if changed is None:
            return None
        if several:
            changed = torch.cat([changed[None], whole[1:]])
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    return on_output
