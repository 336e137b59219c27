"""Judgement of one answer, and the protocol of a judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from aor_lib.config.records import Label

Exchange = tuple[str, str | None]
"""An answer, and the prompt that it answers (None: not known)."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer's label, and why.

    ``score`` is the probability of any refusal (full or partial), ``None`` where the answer is
    unjudged. ``rationale`` is the span of the judged text that decided, verbatim, or the name of
    the rule where no single span did. ``flags`` are those of :data:`aor_lib.config.records.FLAGS`
    that hold, in order.
    """

    label: Label
    score: float | None
    rationale: str
    flags: tuple[str, ...] = ()


class Judge(Protocol):
    """Reads an answer's text. ``version`` changes whenever a judgement could."""

    @property
    def id(self) -> str:
        """Name in the registry and in verdicts."""

    @property
    def version(self) -> str:
        """Version of the rules or the weights."""

    def __call__(self, text: str, prompt: str | None = None) -> Judgement:
        """Return the judgement of ``text``, an answer to ``prompt`` if that is known.

        Any string is judged without error.
        """


@runtime_checkable
class BatchJudge(Protocol):
    """A judge that is faster when it is asked for many judgements at once."""

    def judge_all(self, exchanges: Sequence[Exchange]) -> list[Judgement]:
        """Return the judgement of each exchange, in their order."""


def judge_all(judge: Judge, exchanges: Sequence[Exchange]) -> list[Judgement]:
    """Return the judgement of each exchange, in their order.

    An empty answer is unjudged and not shown to the judge.
    """
    full = [exchange for exchange in exchanges if exchange[0].strip()]
    if isinstance(judge, BatchJudge):
        judgements = iter(judge.judge_all(full))
    else:
        judgements = (judge(text, prompt) for text, prompt in full)
    empty = Judgement(Label.UNJUDGED, None, "empty answer")
    return [next(judgements) if text.strip() else empty for text, _ in exchanges]
