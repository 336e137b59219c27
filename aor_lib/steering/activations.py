"""The residual stream at the decoder layers: read and changed by forward hooks, and recorded.

A layer's output is ``(batch, tokens, width)``, alone or first of a tuple. Gemma 3n's is
``(4, batch, tokens, width)``; the first of the four streams is the one that its layers work on.

Recordings are made one conversation at a time and written to disk, so that memory holds one of
them, whatever the model and the number of conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch

from aor_lib.models.base import AudioModel, Conversation, Turn

Floats = npt.NDArray[np.float32]
Position = Literal["last", "mean"]
"""``last``: the last token of the prompt, whose output decides the first of the answer; ``mean``:
over all tokens of the prompt."""

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


@dataclass(frozen=True, eq=False)
class Recorded:
    """What a model made of some conversations; the arrays lie on disk.

    ``rows`` is float32, ``(conversations, layers, width)``: the output of every decoder layer.
    ``logits`` is float32, ``(conversations, vocabulary)``: of the first token of each answer.
    """

    rows: Floats
    logits: Floats


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


def record(
    model: OpenModel,
    conversations: Sequence[Conversation],
    folder: Path,
    report: Callable[[int, int], None] = lambda done, of: None,
    position: Position = "last",
) -> Recorded:
    """Have a model read conversations, and write what its layers make of them to a folder.

    Raises
    ------
    ValueError
        There is no conversation.
    Whatever the model's ``logits`` does of a conversation that it cannot take.
    """
    if not conversations:
        raise ValueError("there is nothing to record")
    arrays: dict[str, Floats] = {}
    on_disk: Any = np.lib.format.open_memmap  # untyped
    for place, (row, logits) in enumerate(activations(model, conversations, position)):
        for name, values in (("rows", row), ("logits", logits.numpy())):
            if name not in arrays:
                shape = (len(conversations), *values.shape)
                arrays[name] = on_disk(folder / f"{name}.npy", "w+", np.float32, shape)
            arrays[name][place] = values
        report(place + 1, len(conversations))
    return Recorded(**arrays)


def activations(
    model: OpenModel, conversations: Iterable[Conversation], position: Position = "last"
) -> Iterator[tuple[Floats, torch.Tensor]]:
    """A row and the logits of :class:`Recorded` for each conversation, as they come.

    Hooks are in place only while a conversation is read.
    """
    layers = model.decoder_layers()
    for conversation in conversations:
        streams: dict[int, torch.Tensor] = {}
        notes = {place: _note(streams, place, position) for place in range(len(layers))}
        with hooked(layers, notes):
            logits = model.logits(conversation)
        yield torch.stack([streams[place] for place in range(len(layers))]).numpy(), logits


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


def _note(streams: dict[int, torch.Tensor], place: int, position: Position) -> Change:
    def note(stream: torch.Tensor) -> None:
        # One conversation at a time: there is no padding to leave out.
        of_tokens = stream[0].float()
        streams[place] = (of_tokens[-1] if position == "last" else of_tokens.mean(dim=0)).cpu()

    return note
