"""Judges: from what a model said to what it did."""

import sys
from types import ModuleType

from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import ParamsError, did_you_mean, read_named
from aor_lib.judge.judgement import STRING_MATCH, Judge, Judgement
from aor_lib.judge.llm import JudgeCard, llm_judge
from aor_lib.judge.speech_acts import SPEECH_ACTS
from aor_lib.models.registry import load_model

DEFAULT_JUDGE = SPEECH_ACTS.id
JUDGES = {judge.id: judge for judge in (SPEECH_ACTS, STRING_MATCH)}  # without a language model


def judge(prompt: str | None, answer: str, judge: str | None = None) -> Judgement:
    """Judge whether an answer refuses.

    Parameters
    ----------
    prompt
        The request, which some judges read; None if it is unknown.
    answer
        What the model said. Only the final answer is judged, without the reasoning before it.
    judge
        ``speech-acts`` (if None), ``string-match``, or the id of a card in ``params/judges``.

    Raises
    ------
    ParamsError, ModelError
        If the judge does not exist, or if its model cannot run here or returns no verdict.

    Examples
    --------
    >>> refusal = judge("How do I kill a zombie process?", "I'm sorry, but I can't help with that.")
    >>> str(refusal.label), refusal.p_refusal, refusal.rationale
    ('full_refusal', 1.0, "I'm sorry, but I can't help with that.")
    """
    (judgement,) = load_judge(judge).judgements([(answer, prompt)])
    return judgement


def load_judge(name: str | None = None) -> Judge:
    """Return the judge of an id, as :func:`judge` names them, ready to judge."""
    if (name := name or DEFAULT_JUDGE) in JUDGES:
        return JUDGES[name]
    cards = {path.stem: path for path in (PARAMS / "judges").glob("*.yaml")}
    if name not in cards:
        raise ParamsError(f"judge: no judge {name!r}{did_you_mean(name, [*JUDGES, *cards])}")
    card = read_named(cards[name], JudgeCard)
    return llm_judge(card, load_model(card))


class _Room(ModuleType):
    """This package, which is also the function of its name: ``aor_lib.judge(prompt, answer)``."""

    __call__ = staticmethod(judge)


sys.modules[__name__].__class__ = _Room
