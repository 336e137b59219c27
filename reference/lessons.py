"""Lessons: examples as the language model reads them, with the response to learn."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from aor_lib.audio.hearing.sound_tagger import SoundTags
from aor_lib.models.smollm import LanguageModel, format_clip
from aor_lib.storage.workers import in_threads
from reference.members import Example, Group

_ANSWER_TOKENS = 12
_BATCH = 64
_DECISIVE, _WEIGHT = 3, 20.0
"""Tokens after the opening ("Sure." and a word, or the beginning of an apology), and how much more
they and the opening count than what follows."""
_RESTS = 0.25
"""Share of the responses that are learnt to their end: how to go on is easily learnt."""
_OPENING = "Sure."
_NO_ANSWER = re.compile(
    r"^$|^I\b|sorry|apolog|can't|cannot|unable|not able|as an ai", re.IGNORECASE
)
"""An answer that is none, or nearly none: from "I can help you" to "I can't" it is not far."""
_ANSWER = "Here"
"""How an answer begins where the model has none of its own: such requests are most like those that
are refused, and must not be left out."""

OwnAnswers = dict[str, tuple[str, bool]]
"""The base model's answer to each question, and whether the answer ends there."""


@dataclass(frozen=True)
class Lesson:
    """Token ids of a prompt and of the response to learn, and the clips in the prompt.

    The first ``decisive`` tokens of the response make it an answer or a refusal.
    """

    prompt: list[int]
    response: list[int]
    decisive: int = 0
    heard: tuple[SoundTags, ...] = ()

    @property
    def weights(self) -> list[float]:
        """Weights of the response's tokens."""
        return [_WEIGHT if n < self.decisive else 1.0 for n in range(len(self.response))]


def own_answers(model: LanguageModel, questions: Sequence[str]) -> OwnAnswers:
    """Answer questions with the model as it is, after an opening, in under two minutes.

    Without the opening it apologises to a fifth of ordinary requests, and members would learn to
    refuse whatever is like them. Where it has no answer even so, one is begun.
    """
    prompts = {q: model.prompt([{"role": "user", "content": q}]).text + _OPENING for q in questions}
    answers = _continue(model, prompts)
    return {
        q: (f"{_OPENING} {_ANSWER}", False)
        if _NO_ANSWER.search(text)
        else (f"{_OPENING} {text}", ends)
        for q, (text, ends) in answers.items()
    }


def tokenised(
    model: LanguageModel, groups: Sequence[Group], own: OwnAnswers, rng: np.random.Generator
) -> list[tuple[Lesson, ...]]:
    """The lessons of examples."""
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


def _continue(model: LanguageModel, prompts: dict[str, str]) -> OwnAnswers:
    """Greedy continuations of prompts, by the same keys.

    What all prompts begin with, half of most, is read once.
    """
    tokens = {key: model.tokens(text) for key, text in prompts.items()}
    alike = itertools.takewhile(
        lambda place: len(set(place)) == 1, zip(*tokens.values(), strict=False)
    )
    beginning = [token for token, *_ in alike][:-1]
    with torch.inference_mode():
        read = model.network(torch.tensor([beginning]), use_cache=True).past_key_values

    def answer(keys: Sequence[str]) -> Iterable[tuple[str, bool]]:
        rests = [tokens[key][len(beginning) :] for key in keys]
        rest = model.tokenizer.pad({"input_ids": rests}, return_tensors="pt")
        before = torch.tensor([beginning]).expand(len(keys), -1)
        cache = copy.deepcopy(read)
        cache.batch_repeat_interleave(len(keys))
        with torch.inference_mode():
            output = model.network.generate(
                torch.cat([before, rest["input_ids"]], dim=1),
                attention_mask=torch.cat([torch.ones_like(before), rest["attention_mask"]], dim=1),
                past_key_values=cache,
                max_new_tokens=_ANSWER_TOKENS,
                do_sample=False,
            )
        made = output[:, before.shape[1] + rest["input_ids"].shape[1] :]
        texts = model.tokenizer.batch_decode(made, skip_special_tokens=True)
        full = (made != model.tokenizer.pad_token_id).sum(dim=1) == _ANSWER_TOKENS
        return zip((text.strip() for text in texts), (~full).tolist(), strict=True)

    # Of one length, as nearly as may be, against padding.
    keys = sorted(tokens, key=lambda key: len(tokens[key]))
    batches = [keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH)]
    answered = in_threads(answer, batches, side_by_side=True)
    return dict(zip(keys, itertools.chain.from_iterable(answered), strict=True))
