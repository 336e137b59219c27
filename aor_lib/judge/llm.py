"""A language model as the judge: asked by a rubric, its replies read strictly, votes counted.

Which model, how it is reached and what it is asked is in a card, ``params/judges/ID.yaml``. What
goes wrong (no answer, a reply that cannot be read, a tie) is ``unjudged`` with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, model_validator

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation, Identifier, Label, content_hash
from aor_lib.config.typed_yaml import Params
from aor_lib.judge.flags import find_flags
from aor_lib.judge.judgement import Judgement
from aor_lib.judge.reading import final_answer, read
from aor_lib.judge.rubrics import RUBRICS, UnreadableReplyError
from aor_lib.models.base import Answer, Conversation, Failure

Exchange = tuple[str, str | None]
"""An answer, and the prompt that it answers (None: not known)."""

_REFUSALS = (Label.PARTIAL_REFUSAL, Label.FULL_REFUSAL)


class JudgeCard(Params):
    """A judge that is a language model (params/judges/ID.yaml)."""

    id: Identifier
    title: str
    kind: Literal["openai_api", "local"]
    rubric: Literal["three_class", "wildguard"] = "three_class"
    licence: str
    source: str = Field(description="The API's name of the model; for local: hub id or folder.")
    revision: str = "main"
    votes: Annotated[int, Field(ge=1, le=15, description="How often each answer is judged.")] = 1
    generation: Generation = Generation(max_new_tokens=300)
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Of the adapter; it refuses those that it does not know."
    )
    note: str | None = None

    @model_validator(mode="after")
    def _votes_can_differ(self) -> JudgeCard:
        if self.votes > 1 and self.generation.temperature == 0:
            raise ValueError(
                f"votes: {self.votes} votes at generation.temperature 0 are one vote; raise it"
            )
        return self


class Model(Protocol):
    """What a judge asks: see :class:`aor_lib.models.base.AudioModel`."""

    revision: str

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """One result for each conversation, in their order."""


class LLMJudge:
    """The judge of a card.

    ``score`` is the share of readable votes that refuse; unlike that of a fitted judge it is no
    calibrated probability. Flags are found by the library's own rules.

    Raises
    ------
    ModelError
        The model cannot run here (no key, no GPU); the message says what it needs.
    ParamsError
        Its settings are wrong.
    """

    def __init__(self, card: JudgeCard) -> None:
        self.card, self.id = card, card.id
        self._rubric = RUBRICS[card.rubric]
        self._model = _load(card)
        asked = card.model_dump(mode="json", exclude={"id", "title", "licence", "note"})
        self.version = content_hash([asked, self._rubric.text, self._model.revision])[:12]

    def __call__(self, text: str, prompt: str | None = None) -> Judgement:
        """Return the judgement of one answer to ``prompt`` (None: not known)."""
        return self.judge_all([(text, prompt)])[0]

    def judge_all(self, exchanges: Sequence[Exchange]) -> list[Judgement]:
        """Return the judgement of each exchange, in their order; equal ones are asked once.

        Only the final answer counts, as for every judge; where there is none, nobody is asked.

        Raises
        ------
        ModelError
            The model can be asked no more, such as when the API refuses the key.
        """
        asked = {
            (text, prompt): self._rubric.ask(answer, prompt)
            for text, prompt in exchanges
            if (answer := final_answer(text).strip())
        }
        votes: dict[Exchange, list[tuple[Label, str]]] = {exchange: [] for exchange in asked}
        generation = self.card.generation
        for vote in range(self.card.votes):
            settings = generation.model_copy(update={"seed": generation.seed + vote})
            replies = self._model.answer(list(asked.values()), settings) if asked else []
            for (exchange, conversation), reply in zip(asked.items(), replies, strict=True):
                votes[exchange].append(self._read(reply, conversation))
        nothing = Judgement(Label.UNJUDGED, None, "nothing to read")
        return [
            replace(_count(votes[exchange]), flags=_flags(exchange[0]))
            if exchange in votes
            else nothing
            for exchange in exchanges
        ]

    def _read(self, reply: Answer | Failure, conversation: Conversation) -> tuple[Label, str]:
        """A vote: a label, and the words or the reason behind it."""
        if isinstance(reply, Failure):
            return Label.UNJUDGED, f"no reply: {reply.error}"
        try:
            return self._rubric.read(reply.text, conversation)
        except UnreadableReplyError as error:
            return Label.UNJUDGED, str(error)


def _load(card: JudgeCard) -> Model:
    if card.kind == "local":
        from aor_lib.judge.local_model import LocalModel

        return LocalModel(card.id, card.source, card.revision, card.settings)
    from aor_lib.models.openai_api import OpenAIModel

    names = ("id", "title", "licence", "source", "revision", "settings")
    fields = {name: getattr(card, name) for name in names}
    return OpenAIModel(ModelCard(family="judge", kind="openai_api", **fields))


def _flags(text: str) -> tuple[str, ...]:
    return find_flags(read(final_answer(text)).text)


def _count(votes: list[tuple[Label, str]]) -> Judgement:
    """The label that most votes give; a vote that cannot be read counts for ``unjudged``."""
    counts = Counter(label for label, _ in votes)
    tally = ", ".join(f"{label} {count}" for label, count in sorted(counts.items()))
    winners = [label for label, count in counts.items() if count == max(counts.values())]
    if len(winners) > 1:
        return Judgement(Label.UNJUDGED, None, f"the votes are tied: {tally}")
    label = winners[0]
    reasons = [reason for vote, reason in votes if vote is label and reason]
    rationale = reasons[0] if reasons else f"votes: {tally}"
    if label is Label.UNJUDGED:
        return Judgement(label, None, rationale)
    readable = [vote for vote, _ in votes if vote is not Label.UNJUDGED]
    score = sum(vote in _REFUSALS for vote in readable) / len(readable)
    return Judgement(label, score, rationale)
