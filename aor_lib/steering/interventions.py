"""Interventions in the residual stream, applied while a model answers.

All of them work token by token, on the prompt and on the answer, so that decoding with a cache
gives what decoding without one does, and a row of a batch gets what it would get alone: what
padding becomes is never attended to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, Conversation, Failure
from aor_lib.steering import SteeringError
from aor_lib.steering.activations import Change, Floats, OpenModel, hooked


@dataclass(frozen=True, eq=False)
class Addition:
    """``coefficient`` times ``direction`` (float32, ``(width,)``) is added after one layer."""

    layer: int
    direction: Floats
    coefficient: float


@dataclass(frozen=True, eq=False)
class Ablation:
    """The component along ``direction`` (float32, ``(width,)``) is taken out after every layer."""

    direction: Floats


@dataclass(frozen=True, eq=False)
class Gate:
    """Opens for a request whose ``activation @ normal + intercept`` is above ``threshold``.

    The activation is that of the prompt's last token after ``layer``. ``normal`` is float32,
    ``(width,)``.
    """

    layer: int
    normal: Floats
    intercept: float
    threshold: float


@dataclass(frozen=True, eq=False)
class Gated:
    """Conditional steering: an addition for requests that a gate, no later than it, opens for."""

    gate: Gate
    then: Addition


Intervention = Addition | Ablation | Gated


@contextmanager
def steered(model: OpenModel, intervention: Intervention) -> Iterator[None]:
    """Steer everything that the model reads and writes in the block; afterwards it is as it was.

    Raises
    ------
    SteeringError
        If the model has not the layers that the intervention names.

    Examples
    --------
    Take one length of a refusal ``direction`` away after layer 14::

        with steered(model, Addition(14, direction, coefficient=-1.0)):
            answers = model.answer(conversations, Generation(max_new_tokens=40))
    """
    layers = model.decoder_layers()
    match intervention:
        case Addition():
            changes = {intervention.layer: _add(intervention)}
        case Ablation():
            changes = dict.fromkeys(range(len(layers)), _ablate(intervention))
        case Gated(gate, then):
            if gate.layer > then.layer:
                raise SteeringError(
                    f"{model.card.id}: a gate at layer {gate.layer} is too late for an addition "
                    f"after layer {then.layer}"
                )
            changes = _gated(gate, then)
    if (last := max(changes)) >= len(layers):
        raise SteeringError(
            f"{model.card.id} has {len(layers)} decoder layers; there is no layer {last}"
        )
    with hooked(layers, changes):
        yield


class SteeredModel:
    """A model that answers under an intervention: to the study, a model with another setting.

    ``name`` is kept among the model's settings and thereby in the key of each trial: it must
    change with everything that the intervention is made of.
    """

    def __init__(self, model: OpenModel, intervention: Intervention, name: str) -> None:
        settings = {**model.card.settings, "steering": name}
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


def _add(addition: Addition) -> Change:
    change = torch.from_numpy(addition.direction * addition.coefficient)
    return lambda stream: stream + change.to(stream)


def _ablate(ablation: Ablation) -> Change:
    unit = torch.nn.functional.normalize(torch.from_numpy(ablation.direction), dim=0)[None]

    def ablate(stream: torch.Tensor) -> torch.Tensor:
        along = unit.to(stream)
        return torch.addcmul(stream, torch.nn.functional.linear(stream, along), along, value=-1)

    return ablate


def _gated(gate: Gate, then: Addition) -> dict[int, Change]:
    normal = torch.from_numpy(gate.normal)
    change = torch.from_numpy(then.direction * then.coefficient)
    steps: list[torch.Tensor] = []

    def look(stream: torch.Tensor) -> None:
        # A prompt has several tokens; while the answer is written, each step has one, and what the
        # prompt decided is held. Padding is on the left, so that the last token is every row's.
        if stream.shape[1] > 1:
            odds = stream[:, -1].float() @ normal.to(stream.device) + gate.intercept
            steps[:] = [(odds > gate.threshold)[:, None, None] * change.to(stream)]

    def add(stream: torch.Tensor) -> torch.Tensor:
        return stream + steps[0]

    def look_and_add(stream: torch.Tensor) -> torch.Tensor:
        look(stream)
        return add(stream)

    if gate.layer == then.layer:
        return {gate.layer: look_and_add}
    return {gate.layer: look, then.layer: add}
