"""Record the residual stream at the decoder layers, and change it, by forward hooks.

A layer's output is ``(batch, tokens, width)``, alone or first of a tuple. Gemma 3n's is
``(4, batch, tokens, width)``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from aor_lib.models.base import AudioModel, Conversation
from aor_lib.steering import SteeringError
from aor_lib.storage.workers import in_threads

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Change = Callable[[torch.Tensor], torch.Tensor | None]
"""From a residual stream ``(batch, tokens, width)`` to the one to go on with; None keeps it."""
Report = Callable[[int, int], None]

_in_force: ContextVar[frozenset[object]] = ContextVar("hooks in force", default=frozenset())


class OpenModel(AudioModel, Protocol):
    """A model whose ``capabilities.activations`` holds."""

    def decoder_layers(self) -> torch.nn.ModuleList:
        """The language model's layers, first to last."""
        ...

    def logits(self, conversation: Conversation) -> torch.Tensor:
        """Logits of the first token of the answer: float32, ``(vocabulary,)``."""
        ...


def check_open(model: AudioModel) -> None:
    """Raise SteeringError unless the model's decoder layers can be reached."""
    if not model.capabilities.activations:
        raise SteeringError(f"{model.card.id}: its decoder layers are not open to steering")


def record(
    model: OpenModel, conversations: Sequence[Conversation], report: Report = lambda done, of: None
) -> Floats:
    """Record the residual stream while a model reads conversations (at least one), one by one.

    Returns each decoder layer's output for the prompt's last token: float32,
    ``(conversations, layers, width)``.
    """
    check_open(model)
    rows = []
    side_by_side = model.capabilities.side_by_side
    reading = in_threads(partial(_read, model), conversations, side_by_side=side_by_side)
    with closing(reading):
        for row in reading:
            rows.append(row)
            report(len(rows), len(conversations))
    last_token: Floats = torch.stack(rows).numpy()
    return last_token


@contextmanager
def hooked(layers: torch.nn.ModuleList, changes: Mapping[int, Change]) -> Iterator[None]:
    """Pass the output of some layers, by their place, to functions that may change it.

    Prompts of other threads are left alone, unless this one submitted them
    (:func:`aor_lib.storage.workers.one_core_threads`).
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
        several = whole.dim() == 4  # the first is the residual stream
        changed = change(whole[0] if several else whole)
        if changed is None:
            return None
        if several:
            changed = torch.cat([changed[None], whole[1:]])
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    return on_output


def _read(model: OpenModel, conversation: Conversation) -> torch.Tensor:
    # The rows of record for one conversation, ``(layers, width)``.
    layers = model.decoder_layers()
    streams = []

    def note(stream: torch.Tensor) -> None:
        streams.append(stream[0, -1].float().cpu())

    with hooked(layers, dict.fromkeys(range(len(layers)), note)):
        model.logits(conversation)
    return torch.stack(streams)
