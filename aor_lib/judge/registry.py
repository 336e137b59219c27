"""Every judge by its id: those of the library, and the language models of ``params/judges``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from aor_lib.config.params import PARAMS
from aor_lib.config.records import Label
from aor_lib.config.typed_yaml import ParamsError, nearest, read
from aor_lib.judge import JUDGES, Judge, Judgement

if TYPE_CHECKING:
    from aor_lib.judge.llm import Exchange


def load_judge(name: str, folder: Path = PARAMS / "judges") -> Judge:
    """The judge of this id, ready to judge.

    Raises
    ------
    ParamsError
        There is none, or its card is wrong.
    ModelError
        Its model cannot run here; the message says what it needs.
    """
    if name in JUDGES:
        return JUDGES[name]
    cards = {path.stem: path for path in folder.glob("*.yaml")}
    if name not in cards:
        raise ParamsError(f"judge: no judge {name!r}{nearest(name, [*JUDGES, *cards])}")
    from aor_lib.judge.llm import JudgeCard, LLMJudge

    card = read(cards[name], JudgeCard)
    if card.id != name:
        raise ParamsError(f"{cards[name]}: id: must be the file's name, {name!r}")
    return LLMJudge(card)


def judge_all(judge: Judge, exchanges: Sequence[Exchange]) -> list[Judgement]:
    """The judgement of each answer, in their order; a judge that can is asked for all at once.

    An empty answer is unjudged and not shown to the judge.
    """
    full = [exchange for exchange in exchanges if exchange[0].strip()]
    if isinstance(judge, _JudgesMany):
        found = iter(judge.judge_all(full))
    else:
        found = (judge(text, prompt) for text, prompt in full)
    empty = Judgement(Label.UNJUDGED, None, "empty answer")
    return [next(found) if text.strip() else empty for text, _ in exchanges]


@dataclass(frozen=True)
class Asked:
    """A judge that was asked before: repeats what it said, by exchange."""

    id: str
    version: str
    said: dict[Exchange, Judgement]

    def __call__(self, text: str, prompt: str | None = None) -> Judgement:
        """Return what the judge said of this exchange."""
        return self.said[text, prompt]


@runtime_checkable
class _JudgesMany(Protocol):
    def judge_all(self, exchanges: Sequence[Exchange]) -> list[Judgement]: ...
