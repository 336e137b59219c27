"""Interventions in the residual stream, applied while a model answers.

They act on each token separately, of the prompt and of the answer: decoding with a cache gives
what decoding without one does, and a row of a batch what it would get alone.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from aor_lib.config.records import Generation, content_hash
from aor_lib.models.base import Answer, Conversation, Failure
from aor_lib.steering.activations import Change, Floats, Mask, OpenModel, hooked


@dataclass(frozen=True, eq=False)
class Gate:
    """Opens where ``activation @ normal + intercept`` of the last token is above ``threshold``."""

    layer: int  # after which the activation is taken
    normal: Floats  # (width,)
    intercept: float
    threshold: float

    def opens(self, rows: Floats) -> Mask:
        """Mark requests for which it opens, by their activations, ``(requests, width)``."""
        return np.asarray(rows @ self.normal + self.intercept > self.threshold)


@dataclass(frozen=True, eq=False)
class Intervention:
    """A direction, how it is applied while a model answers, and how it was found.

    The direction times ``coefficient`` is added after ``layer`` (from 0), for requests that the
    gate opens for. Without a coefficient, the component along the direction is removed after every
    layer instead (ablation).
    """

    layer: int
    direction: Floats  # (width,)
    coefficient: float | None = None
    gate: Gate | None = None  # at the layer or before
    found_by: str = "difference_in_means"
    source: str = "audio"
    projected_share: float | None = None  # of the true-refusal direction, taken out of it

    @property
    def method(self) -> str:
        """Method by which it is compared: ``found_by``, or ``conditional`` behind a gate."""
        return "conditional" if self.gate else self.found_by

    @property
    def row(self) -> dict[str, object]:
        """Columns that describe it in tables."""
        columns = vars(self) | {"method": self.method}
        if self.gate:
            columns |= {"gate_layer": self.gate.layer, "threshold": self.gate.threshold}
        del columns["direction"], columns["gate"]
        return columns

    @property
    def sha256(self) -> str:
        """Hash of all that decides what it does."""
        gate = vars(self.gate) | {"normal": self.gate.normal.tolist()} if self.gate else None
        return content_hash([self.layer, self.direction.tolist(), self.coefficient, gate])


@contextmanager
def steered(model: OpenModel, intervention: Intervention) -> Iterator[None]:
    """Steer everything that the model reads and writes in the block; afterwards it is as it was."""
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
    """A model that answers under an intervention: to the study, a model with another setting."""

    def __init__(self, model: OpenModel, intervention: Intervention) -> None:
        settings = {**model.card.settings, "steering": intervention.sha256}
        self.card = model.card.model_copy(update={"settings": settings})
        self.revision = model.revision
        self.capabilities = model.capabilities
        self._model, self._intervention = model, intervention

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`."""
        with steered(self._model, self._intervention):
            return self._model.answer(conversations, generation)


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
        # A prompt has several tokens; while the answer is written, each step has one, and what the
        # prompt decided is kept. Padding is on the left: the last token is every row's.
        if stream.shape[1] > 1:
            odds = stream[:, -1].float() @ normal.to(stream.device) + gate.intercept
            added[:] = [(odds > gate.threshold)[:, None, None] * change.to(stream)]

    def add(stream: torch.Tensor) -> torch.Tensor:
        if gate.layer == layer:
            look(stream)
        return stream + added[0]

    return {gate.layer: look, layer: add}
