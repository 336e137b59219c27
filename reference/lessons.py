"""Lessons: examples tokenised for the language model, with the response to learn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aor_lib.audio.hearing.sound_tagger import SoundTags
from aor_lib.config.records import Generation
from aor_lib.models.smollm import LanguageModel, Prompt, format_clip
from reference.members import Example, Group

_ANSWER_TOKENS = 12
_DECISIVE, _WEIGHT = 3, 20.0
"""Number of tokens after the opening ("Sure." and a word, or the beginning of an apology) that
decide between answer and refusal, and the loss weight of these and the opening; others have 1."""
_RESTS = 0.25
"""Share of the responses that are trained to their end; how to continue is easily learnt."""
_OPENING = "Sure."
_NO_ANSWER = re.compile(
    r"^$|^I\b|sorry|apolog|can't|cannot|unable|not able|as an ai", re.IGNORECASE
)
"""Matches refusals, empty answers, and answers close to a refusal ("I can help" to "I can't")."""
_ANSWER = "Here"
"""Beginning of the answer to a request that the base model declines. These requests are the most
similar to refused ones, so they are kept."""

OwnAnswers = dict[str, tuple[str, bool]]
"""The base model's answer to each question, and whether the answer is complete."""


@dataclass(frozen=True)
class Lesson:
    """Token ids of a prompt and of the response to learn, and the clips in the prompt.

    The first ``decisive`` tokens of the response decide whether it is an answer or a refusal.
    """

    prompt: list[int]
    response: list[int]
    decisive: int = 0
    heard: tuple[SoundTags, ...] = ()

    @property
    def weights(self) -> list[float]:
        """Loss weight of each token of the response."""
        return [_WEIGHT if n < self.decisive else 1.0 for n in range(len(self.response))]


def own_answers(model: LanguageModel, questions: Iterable[str]) -> OwnAnswers:
    """Answer questions with the base model, after an opening; takes some minutes.

    Without the opening, the model declines a fifth of ordinary requests, and members would learn
    to refuse similar requests. If it declines even so, :data:`_ANSWER` replaces its answer.
    """
    prompts = {}
    for question in questions:
        text = model.prompt([{"role": "user", "content": question}]).text
        prompts[Prompt(text + _OPENING)] = question
    own: OwnAnswers = {}
    for answers in model.answers(list(prompts), Generation(max_new_tokens=_ANSWER_TOKENS)):
        for prompt, answer in answers.items():
            text, ends = answer.text, answer.finish_reason == "stop"
            if _NO_ANSWER.search(text):
                text, ends = _ANSWER, False
            own[prompts[prompt]] = f"{_OPENING} {text}", ends
    return own


def tokenised(
    model: LanguageModel, groups: Sequence[Group], own: OwnAnswers, rng: np.random.Generator
) -> list[tuple[Lesson, ...]]:
    """Tokenise groups of examples as lessons."""
    return [tuple(_lessons(model, group, own, rng)) for group in groups]


def _lessons(
    model: LanguageModel, group: Group, own: OwnAnswers, rng: np.random.Generator
) -> Iterator[Lesson]:
    for example in group:
        response, ends = example.response, True
        if response is None:
            response, ends = own[example.question]
        messages = [{"role": "user", "content": _content(example)}]
        if example.instruction is not None:
            messages.insert(0, {"role": "system", "content": example.instruction})
        end = model.tokenizer.eos_token if ends else ""
        heard = () if example.sound.heard is None else (example.sound.heard,)
        prompt = model.prompt(messages).text
        learnt = model.tokens(example.opening + response + end)
        decisive = len(model.tokens(example.opening.rstrip())) + _DECISIVE
        if rng.random() >= _RESTS:
            learnt = learnt[: decisive + 1]
        yield Lesson(model.tokens(prompt), learnt, decisive, heard)


def _content(example: Example) -> str:
    if example.sound.heard is not None:
        return format_clip(example.words)
    if example.sound.described is not None:
        return f"In the background one hears {example.sound.described}.\n{example.words}"
    return example.words
