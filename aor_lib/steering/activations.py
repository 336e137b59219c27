"""Activations of the residual stream while a model reads what it is asked.

They are read one conversation at a time and written to disk, so that memory holds one of them,
whatever the model and the number of conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from aor_lib.models.base import Conversation
from aor_lib.steering.residual import Change, OpenModel, hooked

Floats = npt.NDArray[np.float32]
Position = Literal["last", "mean"]
"""``last``: the last token of the prompt, whose output decides the first of the answer; ``mean``:
over all tokens of the prompt."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """What a model made of some conversations; the arrays lie on disk.

    ``rows`` is float32, ``(conversations, layers, width)``: the output of every decoder layer.
    ``logits`` is float32, ``(conversations, vocabulary)``: of the first token of each answer.
    """

    rows: Floats
    logits: Floats


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


def _note(streams: dict[int, torch.Tensor], place: int, position: Position) -> Change:
    def note(stream: torch.Tensor) -> None:
        # One conversation at a time: there is no padding to leave out.
        of_tokens = stream[0].float()
        streams[place] = (of_tokens[-1] if position == "last" else of_tokens.mean(dim=0)).cpu()

    return note
