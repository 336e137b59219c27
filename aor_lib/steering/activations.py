"""The residual stream at the decoder layers: read and changed by forward hooks, and recorded.

A layer's output is ``(batch, tokens, width)``, alone or first of a tuple. Gemma 3n's is
``(4, batch, tokens, width)``; the first of the four streams is the one that its layers work on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch

from aor_lib.models.base import AudioModel, Conversation
from aor_lib.storage.workers import in_threads

Floats = npt.NDArray[np.float32]
Change = Callable[[torch.Tensor], torch.Tensor | None]
"""Gets a layer's residual stream ``(batch, tokens, width)``; returns the one to go on with, or None
to leave it as it is."""

_in_force: ContextVar[frozenset[object]] = ContextVar("hooks in force", default=frozenset())
_STREAMS = 4
"""Dimensions of an output that holds several streams."""


class OpenModel(AudioModel, Protocol):
    """A model whose ``capabilities.activations`` holds."""

    def decoder_layers(self) -> torch.nn.ModuleList:
        """The language model's layers, first to last."""
        ...

    def logits(self, conversation: Conversation) -> torch.Tensor:
        """Logits of the first token of the answer: float32, ``(vocabulary,)``."""
        ...


@runtime_checkable
class LocatesAudio(OpenModel, Protocol):
    """An open model that can say where sound stands in its prompt."""

    def audio_positions(self, conversation: Conversation) -> Sequence[int]:
        """Places of the audio's tokens among the prompt's; none where words alone are read."""
        ...


@dataclass(frozen=True, eq=False)
class Recorded:
    """Activations and logits of a model that read some conversations.

    ``activations`` is float32, ``(conversations, layers, width)``: every decoder layer's output for
    the last token of the prompt, which decides the first of the answer. ``logits`` is float32,
    ``(conversations, vocabulary)``: of that first token. ``audio_tokens`` is as ``activations``,
    but the mean over the tokens of the audio; None unless every conversation has some.
    """

    activations: Floats
    logits: Floats
    audio_tokens: Floats | None = None


def record(
    model: OpenModel,
    conversations: Sequence[Conversation],
    folder: Path | None = None,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> Recorded:
    """Record the layers' outputs while a model reads conversations, each by itself.

    Parameters
    ----------
    folder
        Where the arrays are kept, so that memory need not hold them all; None keeps them in memory.

    Raises
    ------
    ValueError
        If there is no conversation.
    """
    if not conversations:
        raise ValueError("there is nothing to record")
    arrays: dict[str, Floats] = {}
    side_by_side = model.capabilities.side_by_side
    read = in_threads(partial(_read, model), conversations, side_by_side=side_by_side)
    with closing(read):
        for place, found in enumerate(read):
            for name, values in found.items():
                if name not in arrays:
                    arrays[name] = _empty((len(conversations), *values.shape), folder, name)
                arrays[name][place] = values.numpy()
            report(place + 1, len(conversations))
    if "audio_tokens" in arrays and np.isnan(arrays["audio_tokens"][:, 0, 0]).any():
        del arrays["audio_tokens"]
    return Recorded(**arrays)


@contextmanager
def hooked(layers: torch.nn.ModuleList, changes: Mapping[int, Change]) -> Iterator[None]:
    """Give the output of some layers, by their place, to functions that may change it.

    Prompts that other threads have the model read are left alone, unless this one submitted them
    (:func:`aor_lib.storage.workers.one_core_threads`).

    However the block ends, the hooks are gone afterwards and the model is what it was.
    """
    mine = object()
    others = _in_force.set(_in_force.get() | {mine})
    try:
        with ExitStack() as hooks:
            for place, change in changes.items():
                hooks.enter_context(layers[place].register_forward_hook(_hook(change, mine)))
            yield
    finally:
        _in_force.reset(others)


def _hook(change: Change, of: object) -> Callable[[Any, Any, Any], Any]:
    def on_output(_: Any, __: Any, output: Any) -> Any:
        if of not in _in_force.get():
            return None
        whole = output[0] if isinstance(output, tuple) else output
        several = whole.dim() == _STREAMS
        changed = change(whole[0] if several else whole)
        if changed is None:
            return None
        if several:
            changed = torch.cat([changed[None], whole[1:]])
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    return on_output


def _read(model: OpenModel, conversation: Conversation) -> dict[str, torch.Tensor]:
    """The arrays of :class:`Recorded` for one conversation; without audio a mean is NaN."""
    layers = model.decoder_layers()
    tokens = {"activations": [-1]}
    if isinstance(model, LocatesAudio):
        tokens["audio_tokens"] = list(model.audio_positions(conversation))
    streams: dict[tuple[str, int], torch.Tensor] = {}

    def note(place: int) -> Change:
        def change(stream: torch.Tensor) -> None:
            # One conversation at a time: there is no padding to leave out.
            for name, positions in tokens.items():
                streams[name, place] = stream[0, positions].float().mean(dim=0).cpu()

        return change

    with hooked(layers, {place: note(place) for place in range(len(layers))}):
        logits = model.logits(conversation)
    found = {
        name: torch.stack([streams[name, place] for place in range(len(layers))]) for name in tokens
    }
    return found | {"logits": logits}


def _empty(shape: tuple[int, ...], folder: Path | None, name: str) -> Floats:
    if folder is None:
        return np.empty(shape, np.float32)
    on_disk: Any = np.lib.format.open_memmap  # untyped
    array: Floats = on_disk(folder / f"{name}.npy", "w+", np.float32, shape)
    return array
