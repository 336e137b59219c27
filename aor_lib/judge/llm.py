"""A language model as the judge: asked by a rubric, its replies read strictly, votes counted.

Which model, how it is reached and what it is asked is in a card, ``params/judges/ID.yaml``. What
goes wrong (no answer, a reply that cannot be read, a tie) is ``unjudged`` with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, model_validator

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation, Label, content_hash
from aor_lib.judge.flags import find_flags
from aor_lib.judge.judgement import Exchange, Judgement
from aor_lib.judge.reading import final_answer, read
from aor_lib.judge.rubrics import RUBRICS, UnreadableReplyError
from aor_lib.models.base import Answer, AudioModel, Conversation, Failure

_DECIDES = {"kind", "rubric", "source", "revision", "votes", "generation", "settings"}


class JudgeCard(ModelCard):
    """A judge that is a language model (params/judges/ID.yaml)."""

    family: str = "judge"
    kind: Literal["openai_api", "local"]
    rubric: Literal["three_class", "wildguard"] = "three_class"
    votes: Annotated[int, Field(ge=1, le=15, description="How often each answer is judged.")] = 1
    generation: Generation = Generation(max_new_tokens=300)

    @model_validator(mode="after")
    def _votes_can_differ(self) -> JudgeCard:
        if self.votes > 1 and self.generation.temperature == 0:
            raise ValueError(
                f"votes: {self.votes} votes at generation.temperature 0 are one vote; raise it"
            )
        return self

    def as_model(self) -> ModelCard:
        """Return the card of the model that is asked."""
        local = "aor_lib.judge.local_model:LocalModel"
        shared = self.model_dump(include=set(ModelCard.model_fields))
        return ModelCard(**shared | {"kind": local if self.kind == "local" else self.kind})


class LLMJudge:
    """The judge of a card, which asks ``model``.

    ``score`` is the share of readable votes that refuse; unlike that of a fitted judge it is no
    calibrated probability. Flags are found by the library's own rules.
    """

    def __init__(self, card: JudgeCard, model: AudioModel) -> None:
        self.card, self.id = card, card.id
        self._rubric = RUBRICS[card.rubric]
        self._model = model
        asked = card.model_dump(mode="json", include=_DECIDES)
        self.version = content_hash([asked, self._rubric.text, model.revision])[:12]

    def __call__(self, text: str, prompt: str | None = None) -> Judgement:
        """Return the judgement of one answer to ``prompt`` (None: not known)."""
        return self.judge_all([(text, prompt)])[0]

    def judge_all(self, exchanges: Sequence[Exchange]) -> list[Judgement]:
        """Return the judgement of each exchange, in their order; equal ones are asked once.

        Only the final answer counts, as for every judge; where there is none, nobody is asked.
        """
        asked = {
            (text, prompt): self._rubric.ask(answer, prompt)
            for text, prompt in exchanges
            if (answer := final_answer(text).strip())
        }
        votes: dict[Exchange, list[tuple[Label, str]]] = {exchange: [] for exchange in asked}
        generation = self.card.generation
        for vote in range(self.card.votes if asked else 0):
            settings = generation.model_copy(update={"seed": generation.seed + vote})
            replies = self._model.answer(list(asked.values()), settings)
            for (exchange, conversation), reply in zip(asked.items(), replies, strict=True):
                votes[exchange].append(self._read(reply, conversation))
        nothing = Judgement(Label.UNJUDGED, None, "nothing to read")
        return [
            replace(_count(votes[exchange]), flags=find_flags(read(final_answer(exchange[0])).text))
            if exchange in votes
            else nothing
            for exchange in exchanges
        ]

    def _read(self, reply: Answer | Failure, conversation: Conversation) -> tuple[Label, str]:
        """Return a vote: a label, and the words or the reason behind it."""
        if isinstance(reply, Failure):
            return Label.UNJUDGED, f"no reply: {reply.error}"
        try:
            return self._rubric.read(reply.text, conversation)
        except UnreadableReplyError as error:
            return Label.UNJUDGED, str(error)


def _count(votes: list[tuple[Label, str]]) -> Judgement:
    """Return the label that most votes give; an unreadable vote counts for ``unjudged``."""
    counts = Counter(label for label, _ in votes)
    tally = ", ".join(f"{label} {count}" for label, count in sorted(counts.items()))
    winners = [label for label, count in counts.items() if count == max(counts.values())]
    if len(winners) > 1:
        return Judgement(Label.UNJUDGED, None, f"the votes are tied: {tally}")
    label = winners[0]
    rationale = next((why for vote, why in votes if vote is label and why), f"votes: {tally}")
    if label is Label.UNJUDGED:
        return Judgement(label, None, rationale)
    readable = counts.total() - counts[Label.UNJUDGED]
    refusing = counts[Label.PARTIAL_REFUSAL] + counts[Label.FULL_REFUSAL]
    return Judgement(label, refusing / readable, rationale)
