"""Mitigations (params/prompts): what a model is told beside a stimulus, and their controls."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aor_lib.config.records import Generation, Identifier
from aor_lib.config.typed_yaml import Params


class Prompt(Params):
    """Instructions that a model gets beside a stimulus.

    ``steps`` are requests, one after the other in one conversation: the first beside the stimulus.
    The answer to the last one counts.
    """

    instruction: str | None = None  # system prompt
    steps: tuple[Annotated[str, Field(min_length=1)], ...] = ()


class Decoding(Params):
    """Sampling of an answer in place of greedy decoding."""

    temperature: Annotated[float, Field(gt=0, le=2)]
    seed: Annotated[int, Field(ge=0)]


class Mitigation(Prompt):
    """A prompt or a decoding that is meant to change over-refusal (params/prompts/ID.yaml).

    ``control`` is the same with as many neutral words. ``arm``, ``method`` and ``is_control`` are
    set by code, see :class:`aor_lib.config.records.Arm`.
    """

    id: Identifier
    title: str
    control: Prompt | None = None
    decoding: Decoding | None = None
    arm: Identifier | None = None
    method: Identifier | None = None
    is_control: bool = False

    @property
    def arms(self) -> tuple[Mitigation, ...]:
        """The mitigation and, if it has one, its control as a mitigation of its own."""
        if self.control is None:
            return (self,)
        control = Mitigation(
            id=f"{self.id}.control",
            title=f"{self.title}: control",
            arm=self.id,
            is_control=True,
            **dict(self.control),
        )
        return (self.model_copy(update={"control": None}), control)

    @property
    def is_none(self) -> bool:
        """Whether nothing is added to the stimulus, nor decoded otherwise."""
        return self.instruction is None and not self.steps and self.decoding is None

    def generation(self, of_study: Generation) -> Generation:
        """The study's settings of generation with this mitigation's decoding."""
        own = self.decoding.model_dump() if self.decoding else {}
        return of_study.model_copy(update=own)
