"""Conversations in which the user asks again before the model has spoken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, AudioModel, Conversation, Failure, Turn


def has_steps(conversation: Conversation) -> bool:
    """True if a turn of the user follows another one."""
    return any(one.role == other.role == "user" for one, other in pairwise(conversation))


def answer_in_steps(
    model: AudioModel, conversations: Sequence[Conversation], generation: Generation
) -> list[Answer | Failure]:
    """Answer as :meth:`aor_lib.models.base.AudioModel.answer`, one user turn after the other.

    Each turn of the user that another one follows is answered first, and that answer stands
    between them when the next is asked. The answer to the last turn is the result; a failure at
    any step is.
    """
    if not any(map(has_steps, conversations)):
        return model.answer(conversations, generation)
    results: list[Answer | Failure] = [Failure("not asked")] * len(conversations)
    open_ = {index: _split(conversation) for index, conversation in enumerate(conversations)}
    step = 0
    while open_:
        step += 1
        answers = model.answer([asked for asked, _ in open_.values()], generation)
        following = {}
        for (index, (asked, later)), answer in zip(open_.items(), answers, strict=True):
            if not later:
                results[index] = answer
            elif isinstance(answer, Failure):
                results[index] = Failure(f"step {step}: {answer.error}", blocked=answer.blocked)
            elif not answer.text.strip():
                results[index] = Failure(f"step {step}: empty answer")
            else:
                said = Turn("assistant", text=answer.text)
                following[index] = _split((*asked, said, *later))
        open_ = following
    return results


def _split(conversation: Conversation) -> tuple[Conversation, Conversation]:
    """Split after the first turn that is to be answered: what to ask now, and what comes later."""
    for place, (one, other) in enumerate(pairwise(conversation), start=1):
        if one.role == other.role == "user":
            return conversation[:place], conversation[place:]
    return conversation, ()
