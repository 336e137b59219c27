"""Mitigations (params/prompts): what a model is told beside a stimulus, and their controls."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aor_lib.config.records import Generation, Identifier
from aor_lib.config.typed_yaml import Params


class Prompt(Params):
    """Instructions that a model gets beside a stimulus."""

    instruction: str | None = Field(default=None, description="A system prompt.")
    steps: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        description="Requests, one after the other in one conversation: the first beside the "
        "stimulus. What is answered to the last one counts.",
    )


class Decoding(Params):
    """Sampling of an answer in place of greedy decoding."""

    temperature: Annotated[float, Field(gt=0, le=2)]
    seed: Annotated[int, Field(ge=0)]


class Mitigation(Prompt):
    """A prompt that is meant to change over-refusal (params/prompts/ID.yaml).

    Or the same words as without one, decoded otherwise: what chance alone would change.
    """

    id: Identifier
    title: str
    control: Prompt | None = Field(
        default=None, description="The same with neutral words, as many: what any prompt would do."
    )
    decoding: Decoding | None = None
    arm: Identifier | None = Field(default=None, description="Set by code: see records.Arm.")
    method: Identifier | None = Field(default=None, description="Set by code: see records.Arm.")
    is_control: bool = Field(default=False, description="Set by code.")

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
        """True if nothing is added to the stimulus, nor decoded otherwise."""
        return self.instruction is None and not self.steps and self.decoding is None

    def generation(self, of_study: Generation) -> Generation:
        """Settings under which it is answered: those of the study but for its own decoding."""
        own = self.decoding.model_dump() if self.decoding else {}
        return of_study.model_copy(update=own)
