"""Conversations with several user turns in a row.

The model answers each of these turns, and its answer is inserted before the next turn is sent.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, AudioModel, Conversation, Failure, GradualModel, Turn


def in_steps(
    conversation: Conversation,
) -> Generator[Conversation, Answer | Failure, Answer | Failure]:
    """Yield each conversation to answer, receive its result by ``send``, return the last result."""
    step, (asked, later) = 1, _split(conversation)
    while True:
        answer = yield asked
        if isinstance(answer, Answer) and not answer.text.strip():
            answer = Failure("empty answer")
        if not later:
            return answer
        if isinstance(answer, Failure):
            return replace(answer, error=f"step {step}: {answer.error}")
        step, (asked, later) = step + 1, _split((*asked, Turn("assistant", answer.text), *later))


def answers_in_steps(
    model: AudioModel, conversations: Sequence[Conversation], generation: Generation
) -> Iterator[dict[int, Answer | Failure]]:
    """Yield final results by position of the conversation; all first steps precede the second."""
    steps = dict(enumerate(map(in_steps, conversations)))
    asked = {place: next(asking) for place, asking in steps.items()}
    while asked:
        places, following = list(asked), {}
        for came in _results(model, list(asked.values()), generation):
            results = {}
            for number, answer in came.items():
                place = places[number]
                try:
                    following[place] = steps[place].send(answer)
                except StopIteration as end:
                    results[place] = end.value
            if results:
                yield results
        asked = following


def _results(
    model: AudioModel, conversations: Sequence[Conversation], generation: Generation
) -> Iterator[Mapping[int, Answer | Failure]]:
    if isinstance(model, GradualModel):
        yield from model.results(conversations, generation)
        return
    results = model.answer(conversations, generation)
    if len(results) != len(conversations):
        raise ValueError(f"{len(results)} results for {len(conversations)} conversations")
    yield dict(enumerate(results))


def _split(conversation: Conversation) -> tuple[Conversation, Conversation]:
    for place, (turn, following) in enumerate(pairwise(conversation), start=1):
        if turn.role == following.role == "user":
            return conversation[:place], conversation[place:]
    return conversation, ()
