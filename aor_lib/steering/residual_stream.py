"""Record a model's residual stream at its decoder layers, and change it while the model answers.

A layer's output is ``(batch, tokens, width)``, alone or first in a tuple. Gemma 3n's is
``(4, batch, tokens, width)``. Interventions act separately on each token of the prompt and of the
answer, so decoding with and without a cache gives the same answers, and so does answering in a
batch and alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from aor_lib.config.records import Generation, content_hash
from aor_lib.models.base import AudioModel, Conversation, Result
from aor_lib.steering import SteeringError
from aor_lib.storage.progress import Report
from aor_lib.storage.workers import Job, Made, in_threads

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Change = Callable[[torch.Tensor], torch.Tensor | None]
"""Function from a residual stream ``(batch, tokens, width)`` to its replacement; None keeps it."""

_in_force: ContextVar[frozenset[object]] = ContextVar("hooks in force", default=frozenset())


class OpenModel(AudioModel, Protocol):
    """Model whose ``capabilities.activations`` is true."""

    def decoder_layers(self) -> torch.nn.ModuleList:
        """Decoder layers of the language model, first to last."""

    def logits(self, conversation: Conversation) -> torch.Tensor:
        """Logits of the first token of the answer: float32, ``(vocabulary,)``."""


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
    layers = model.decoder_layers()

    def read(conversation: Conversation) -> torch.Tensor:
        streams: list[torch.Tensor] = []
        notes = dict.fromkeys(range(len(layers)), lambda s: streams.append(s[0, -1].float().cpu()))
        with hooked(layers, notes):
            model.logits(conversation)
        return torch.stack(streams)

    return torch.stack(each(model, read, conversations, report)).numpy()


def each(
    model: AudioModel, make: Callable[[Job], Made], jobs: Sequence[Job], report: Report
) -> list[Made]:
    """Results of all jobs, in order; jobs run in threads if that is faster for the model."""
    made = []
    with closing(in_threads(make, jobs, side_by_side=model.capabilities.side_by_side)) as results:
        for result in results:
            made.append(result)
            report(len(made), len(jobs))
    return made


@contextmanager
def hooked(layers: torch.nn.ModuleList, changes: Mapping[int, Change]) -> Iterator[None]:
    """Pass the outputs of some layers, by index, to functions that may change them.

    Prompts that other threads read are unaffected, unless this thread submitted them
    (:func:`aor_lib.storage.workers.one_core_threads`).
    """
    mine = object()
    with ExitStack() as hooks:
        hooks.callback(_in_force.reset, _in_force.set(_in_force.get() | {mine}))
        for place, change in changes.items():
            hooks.enter_context(layers[place].register_forward_hook(_hook(change, mine)))
        yield


@dataclass(frozen=True, eq=False)
class Gate:
    """Gate that opens if the last token's ``activation @ normal + intercept > threshold``."""

    layer: int  # after which the activation is taken
    normal: Floats  # (width,)
    intercept: float
    threshold: float

    def opens(self, rows: Floats) -> Mask:
        """Mark the requests for which the gate opens, by activations ``(requests, width)``."""
        return np.asarray(rows @ self.normal + self.intercept > self.threshold)


@dataclass(frozen=True, eq=False)
class Intervention:
    """A direction, how it is applied while a model answers, and how it was found.

    The direction times ``coefficient`` is added after ``layer`` (from 0), for requests for which
    the gate, if any, opens. Without a coefficient, the component along the direction is removed
    after every layer instead (ablation).
    """

    layer: int
    direction: Floats  # (width,)
    coefficient: float | None = None
    gate: Gate | None = None  # at the layer or before
    found_by: str = "difference_in_means"
    source: str = "audio"
    projected_share: float | None = None  # of the true-refusal direction, projected out

    @property
    def method(self) -> str:
        """Name of the method in comparisons: ``found_by``, or ``conditional`` with a gate."""
        return "conditional" if self.gate else self.found_by

    @property
    def row(self) -> dict[str, object]:
        """Columns that describe the intervention in tables."""
        columns = vars(self) | {"method": self.method}
        if self.gate:
            columns |= {"gate_layer": self.gate.layer, "threshold": self.gate.threshold}
        del columns["direction"], columns["gate"]
        return columns

    @property
    def sha256(self) -> str:
        """Hash of everything that determines the intervention's effect."""
        gate = vars(self.gate) | {"normal": self.gate.normal.tolist()} if self.gate else None
        return content_hash([self.layer, self.direction.tolist(), self.coefficient, gate])


@contextmanager
def steered(model: OpenModel, intervention: Intervention) -> Iterator[None]:
    """Steer all that the model reads and writes within the block, then restore the model."""
    layers, layer, gate = model.decoder_layers(), intervention.layer, intervention.gate
    direction = torch.from_numpy(intervention.direction)
    if intervention.coefficient is None:
        changes = dict.fromkeys(range(len(layers)), _ablation(direction))
    elif gate is None:
        change = direction * intervention.coefficient
        changes = {layer: lambda stream: stream + change.to(stream)}
    else:
        changes = _gated_addition(gate, layer, direction * intervention.coefficient)
    with hooked(layers, changes):
        yield


class SteeredModel:
    """Model that answers under an intervention, which is a setting (``steering``) of its card."""

    def __init__(self, model: OpenModel, intervention: Intervention) -> None:
        settings = {**model.card.settings, "steering": intervention.sha256}
        self.card = model.card.model_copy(update={"settings": settings})
        self.revision = model.revision
        self.capabilities = model.capabilities
        self._model, self._intervention = model, intervention

    def answer(self, conversations: Sequence[Conversation], generation: Generation) -> list[Result]:
        """See :class:`aor_lib.models.base.AudioModel`."""
        with steered(self._model, self._intervention):
            return self._model.answer(conversations, generation)


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


def _ablation(direction: torch.Tensor) -> Change:
    unit = torch.nn.functional.normalize(direction, dim=0)[None]

    def ablate(stream: torch.Tensor) -> torch.Tensor:
        along = unit.to(stream)
        return torch.addcmul(stream, torch.nn.functional.linear(stream, along), along, value=-1)

    return ablate


def _gated_addition(gate: Gate, layer: int, change: torch.Tensor) -> dict[int, Change]:
    normal = torch.from_numpy(gate.normal)
    added: list[torch.Tensor] = []

    def look(stream: torch.Tensor) -> None:
        # The prompt, of several tokens, determines if the gate opens; each step of the answer has
        # one token. Padding is on the left, so every row has its last token at the last position.
        if stream.shape[1] > 1:
            odds = stream[:, -1].float() @ normal.to(stream.device) + gate.intercept
            added[:] = [(odds > gate.threshold)[:, None, None] * change.to(stream)]

    def add(stream: torch.Tensor) -> torch.Tensor:
        if gate.layer == layer:
            look(stream)
        return stream + added[0]

    return {gate.layer: look, layer: add}
