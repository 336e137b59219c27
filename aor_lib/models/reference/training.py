"""Training of the reference models' adapters on the responses of their examples."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from aor_lib.audio.hearing.ear import Heard
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError, nearest
from aor_lib.models.reference import smollm
from aor_lib.models.reference.lora import LowRank, add_adapter, save_adapter
from aor_lib.models.reference.material import load_material
from aor_lib.models.reference.members import MEMBERS, Example, Group, Recipe
from aor_lib.models.reference.prompt import Prompt, format_clip
from aor_lib.models.reference.smollm import LanguageModel
from aor_lib.models.reference.sounds import load_sounds

SEED = 20_260_621
THREADS = 2
"""The sums of another number of threads differ in their last bits, and so would the weights."""
_WARM_UP = 0.05
_SORTED_BATCHES = 8
"""Number of batches cut from examples that were sorted by length, against padding."""
_ANSWER_TOKENS = 12
_DECISIVE, _WEIGHT = 2, 20.0
"""Tokens after the opening ("Sure.", or the beginning of an apology), and how much more they and
the opening count than what follows."""
_OPENING = "Sure."
_NO_ANSWER = re.compile(r"sorry|apolog|can't|cannot|unable|not able|as an ai", re.IGNORECASE)

Report = Callable[[int, int], None]
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
    heard: tuple[Heard, ...] = ()


def train_member(member: str, into: Path, workers: int, report: Report) -> Path:
    """Train a member from nothing and write its adapter below ``into``.

    It takes up to 35 minutes of two cores.

    The same code and material give the same weights on the same kind of machine. Products of
    matrices are in bfloat16, which is several times as fast where the processor has it.

    Parameters
    ----------
    member
        A key of :data:`aor_lib.models.reference.members.MEMBERS`.
    into
        The folder of the adapter, made if need be.
    workers
        Processes that make the clips that are heard, where the cache has none.
    report
        Called with the clips or the steps done and their number.

    Returns
    -------
    The adapter's file.

    Raises
    ------
    ParamsError
        If there is no such member, or its material is wrong.
    """
    if member not in MEMBERS:
        raise ParamsError(f"train-reference: no member {member!r}{nearest(member, MEMBERS)}")
    rng = np.random.default_rng([SEED, list(MEMBERS).index(member)])
    material = load_material()
    recipe = MEMBERS[member]
    examples = recipe.examples(material, load_sounds(material, workers, report), rng)
    model = smollm.load()
    own = own_answers(model, material.ordinary)
    adapter = fit(model, lessons(model, examples, own), recipe, rng, report)
    into.mkdir(parents=True, exist_ok=True)
    path = into / f"{member}.safetensors"
    save_adapter(adapter, path, smollm.revision())
    return path


def own_answers(model: LanguageModel, questions: Sequence[str]) -> OwnAnswers:
    """Answer questions with the model as it is, in a minute or two.

    Where it apologises, as it does to a fifth of ordinary requests, it is asked to go on after an
    opening that does not: members would else learn to refuse whatever is like them.
    """
    prompts = {q: model.prompt([{"role": "user", "content": q}]).text for q in questions}
    answers = _continue(model, prompts)
    apologies = {q: prompts[q] + _OPENING for q, (text, _) in answers.items() if _declines(text)}
    opened = _continue(model, apologies)
    return answers | {q: (f"{_OPENING} {text}", ends) for q, (text, ends) in opened.items()}


def lessons(
    model: LanguageModel, groups: Sequence[Group], own: OwnAnswers
) -> list[tuple[Lesson, ...]]:
    """Tokenise examples, leaving out the model's own answers that still apologise."""
    learnt = (tuple(_lessons(model, group, own)) for group in groups)
    return [group for group in learnt if group]


def fit(
    model: LanguageModel,
    lessons: Sequence[tuple[Lesson, ...]],
    recipe: Recipe,
    rng: np.random.Generator,
    report: Report,
) -> dict[str, LowRank]:
    """Add an adapter to the model and train it as the recipe says, with AdamW.

    Nothing but the responses is learnt, in one pass over the lessons.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        model.network.requires_grad_(False)
        # Attention to so few tokens is a fifth of a step's time where it is fused.
        model.network.set_attn_implementation("eager")
        decoder = model.network.get_decoder()
        adapter = add_adapter(decoder.layers, recipe.first_layer, int(rng.integers(2**31)))
        weights = [weight for one in adapter.values() for weight in (one.down, one.up)]
        batches = _batches(lessons, recipe.batch, rng)
        order = rng.permutation(len(batches))
        optimizer = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: _rate_factor((step + 1) / len(order))
        )
        for done, number in enumerate(order, start=1):
            loss: Any = _loss(model, batches[int(number)])  # whose backward() is untyped
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            report(done, len(order))
    finally:
        torch.set_num_threads(threads)
    return adapter


def _lessons(model: LanguageModel, group: Group, own: OwnAnswers) -> Iterator[Lesson]:
    for example in group:
        response, ends = example.response, True
        if response is None:
            response, ends = own[example.question]
            if _declines(response):
                continue
        messages = [{"role": "user", "content": _content(example)}]
        if example.instruction is not None:
            messages.insert(0, {"role": "system", "content": example.instruction})
        end = model.tokenizer.eos_token if ends else ""
        heard = () if example.sound.heard is None else (example.sound.heard,)
        prompt = model.prompt(messages).text
        said = model.tokens(example.opening + response + end)
        decisive = len(model.tokens(example.opening.rstrip())) + _DECISIVE
        yield Lesson(model.tokens(prompt), said, decisive, heard)


def _content(example: Example) -> str:
    """An example's request as it is read: over audio tokens, after a description, or alone."""
    if example.sound.heard is not None:
        return format_clip(example.words)
    if example.sound.described is not None:
        return f"In the background one hears {example.sound.described}.\n{example.words}"
    return example.words


def _loss(model: LanguageModel, batch: Sequence[Lesson]) -> torch.Tensor:
    """Weighted mean cross entropy of the responses' tokens."""
    longest = max(len(one.prompt) + len(one.response) for one in batch)
    tokens = torch.full((len(batch), longest), model.tokenizer.pad_token_id)
    weights = torch.zeros((len(batch), longest))
    for row, one in enumerate(batch):
        begin, end = len(one.prompt), len(one.prompt) + len(one.response)
        tokens[row, :end] = torch.tensor(one.prompt + one.response)
        weights[row, begin:end] = 1.0
        weights[row, begin : min(begin + one.decisive, end)] = _WEIGHT
    # Padding is on the right, where no token looks.
    with model.hearing([clip for one in batch for clip in one.heard]), _bfloat16():
        hidden = model.network.get_decoder()(tokens, use_cache=False).last_hidden_state
    # Each token is predicted from the one before it; only these positions need logits.
    learnt = weights[:, 1:] > 0
    with _bfloat16():
        logits = model.network.lm_head(hidden[:, :-1][learnt]).float()
    targets, counts = tokens[:, 1:][learnt], weights[:, 1:][learnt]
    losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    return (losses * counts).sum() / counts.sum()


def _batches(
    groups: Sequence[tuple[Lesson, ...]], size: int, rng: np.random.Generator
) -> list[list[Lesson]]:
    """Batches of ``size`` groups of similar length, in random order."""
    shuffled = [groups[int(number)] for number in rng.permutation(len(groups))]
    batches = []
    for start in range(0, len(shuffled), size * _SORTED_BATCHES):
        alike = sorted(
            shuffled[start : start + size * _SORTED_BATCHES],
            key=lambda group: max(len(one.prompt) for one in group),
        )
        for i in range(0, len(alike), size):
            batches.append([one for group in alike[i : i + size] for one in group])
    return [batches[int(number)] for number in rng.permutation(len(batches))]


def _rate_factor(progress: float) -> float:
    """Factor of the learning rate: a linear warm-up, then half a cosine to zero."""
    if progress < _WARM_UP:
        return progress / _WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (progress - _WARM_UP) / (1 - _WARM_UP)))


def _continue(model: LanguageModel, prompts: dict[str, str]) -> OwnAnswers:
    """Greedy continuations of prompts, by the same keys."""
    keys, made = list(prompts), []
    generation = Generation(max_new_tokens=_ANSWER_TOKENS)
    for start in range(0, len(keys), 64):
        batch = [Prompt(prompts[key]) for key in keys[start : start + 64]]
        made += model.generate(batch, generation)
    return {key: (text, n < _ANSWER_TOKENS) for key, (text, n) in zip(keys, made, strict=True)}


def _declines(text: str) -> bool:
    return _NO_ANSWER.search(text) is not None


def _bfloat16() -> torch.autocast:
    return torch.autocast("cpu", dtype=torch.bfloat16)
