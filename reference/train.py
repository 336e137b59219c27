"""Training of the reference models' adapters on the responses of their examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from peft import (
    LoraConfig,
    PeftModel,
    get_peft_model,
    get_peft_model_state_dict,
    load_peft_weights,
    set_peft_model_state_dict,
)
from safetensors.torch import save_file
from torch.nn.utils.rnn import pad_sequence
from transformers import get_cosine_schedule_with_warmup

from aor_lib.config.typed_yaml import ParamsError, did_you_mean
from aor_lib.models import smollm_weights
from aor_lib.models.cascade import WEIGHTS
from aor_lib.models.smollm import LanguageModel
from aor_lib.storage import assets
from aor_lib.storage.progress import progress
from aor_lib.storage.workers import one_core_threads
from reference.lessons import Lesson, own_answers, tokenised
from reference.material import load_material
from reference.members import MEMBERS, Recipe
from reference.sounds import load_sounds

SEED = 20_260_621
RANK, SCALE = 16, 2
_HALVES = 2
"""Parts of a batch, one thread each; fixed, since the order of summation changes the last bits."""
_WARM_UP = 0.05
_SORTED_BATCHES = 8
"""Number of batches cut from examples sorted by length, which reduces padding."""
Report = Callable[[int, int], None]


def train_member(member: str, into: Path, workers: int, report: Report) -> Path:
    """Train a member, write its adapter to a folder of its name in ``into`` and return the folder.

    The same code, material and initial adapter (if the recipe names one) give the same weights on
    the same kind of processor, whatever the number of its cores.

    If the cache has no clips, ``workers`` processes make them. ``report`` is called with the number
    of clips or steps done, and their total. Raises ``ParamsError`` if there is no such member, or
    its material is invalid.
    """
    if member not in MEMBERS:
        raise ParamsError(f"no member {member!r}{did_you_mean(member, MEMBERS)}")
    rng = np.random.default_rng([SEED, list(MEMBERS).index(member)])
    material = load_material()
    recipe = MEMBERS[member]
    examples = recipe.examples(material, load_sounds(material, workers, report), rng)
    model = smollm_weights.load()
    drawn = {e.question: None for group in examples for e in group if e.response is None}
    own = own_answers(model, list(drawn))
    adapter = fit(model, tokenised(model, examples, own, rng), recipe, rng, report)
    save_adapter(adapter, into / member)
    return into / member


def fit(
    model: LanguageModel,
    lessons: Sequence[tuple[Lesson, ...]],
    recipe: Recipe,
    rng: np.random.Generator,
    report: Report,
) -> PeftModel:
    """Add an adapter to the model and train it with AdamW as the recipe specifies.

    The loss covers only the responses; training is one epoch over the lessons.
    """
    # On such short inputs, fused attention would take a fifth of a step's time.
    model.network.set_attn_implementation("eager")
    hears = any(lesson.heard for group in lessons for lesson in group)
    adapter = add_adapter(model.network, recipe, hears, int(rng.integers(2**31)))
    weights = [weight for weight in adapter.parameters() if weight.requires_grad]
    batches = _batches(lessons, recipe.batch, rng)
    order = rng.permutation(len(batches))
    optimizer = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=0.0)
    warm_up = round(_WARM_UP * len(order))
    schedule = get_cosine_schedule_with_warmup(optimizer, warm_up, len(order))

    def gradients(part: Sequence[Lesson], share: float) -> tuple[torch.Tensor, ...]:
        loss = _loss(model, part) * share
        # A part without clips does not use the audio map, whose gradient is then zero.
        return torch.autograd.grad(loss, weights, materialize_grads=True)

    with one_core_threads() as (submit, _):
        for done, number in enumerate(order, start=1):
            halves = _halves(batches[int(number)])
            total = sum(sum(lesson.weights) for half in halves for lesson in half)
            parts = [submit(gradients, half, 1 / total) for half in halves]
            for weight, *summands in zip(weights, *(part.result() for part in parts), strict=True):
                weight.grad = sum(summands[1:], summands[0])
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            schedule.step()
            report(done, len(order))
    return adapter


def add_adapter(network: Any, recipe: Recipe, hears: bool, seed: int) -> PeftModel:
    """Add a LoRA adapter to every linear layer of the decoder layers that a recipe trains.

    Everything else is frozen. If the member ``hears``, an audio map is added
    (:func:`aor_lib.models.smollm_weights.add_audio_map`).
    """
    layers = network.get_decoder().layers
    if hears:
        smollm_weights.add_audio_map(layers[recipe.first_layer])
    linear = {
        name.rpartition(".")[2]
        for name, module in layers[recipe.first_layer].named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    config = LoraConfig(
        r=RANK,
        lora_alpha=SCALE * RANK,
        target_modules=sorted(linear),
        layers_to_transform=list(range(recipe.first_layer, len(layers))),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        adapter = get_peft_model(network, config)
    if recipe.begins_as:
        begin = load_peft_weights(str(WEIGHTS / recipe.begins_as))
        for name, weight in begin.items():
            begin[name] = weight.float() / (SCALE if "lora_B" in name else 1)
        set_peft_model_state_dict(adapter, begin)
    return adapter


def save_adapter(adapter: PeftModel, folder: Path) -> None:
    """Write an adapter in PEFT's format, in half precision.

    The factors B include the scale; otherwise, half precision would round their smallest numbers.
    """
    weights = get_peft_model_state_dict(adapter, save_embedding_layers=False)
    for name, weight in weights.items():
        weights[name] = (SCALE * weight if "lora_B" in name else weight).half().contiguous()
    config = adapter.peft_config["default"]
    config.lora_alpha = RANK
    config.base_model_name_or_path = smollm_weights.ASSET
    config.revision = assets.revision(smollm_weights.ASSET)
    config.save_pretrained(str(folder))
    save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def _loss(model: LanguageModel, lessons: Sequence[Lesson]) -> torch.Tensor:
    read = [torch.tensor(lesson.prompt + lesson.response) for lesson in lessons]
    with model.hearing([clip for lesson in lessons for clip in lesson.heard]):
        states = model.network.get_decoder()(
            pad_sequence(read, batch_first=True),
            attention_mask=pad_sequence([torch.ones_like(row) for row in read], batch_first=True),
            use_cache=False,
        ).last_hidden_state
    # Each token is predicted from the one before it; only these positions need logits.
    before = [
        states[row, len(lesson.prompt) - 1 : _length(lesson) - 1]
        for row, lesson in enumerate(lessons)
    ]
    logits = model.network.lm_head(torch.cat(before))
    targets = torch.tensor([token for lesson in lessons for token in lesson.response])
    losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    weights = torch.tensor([weight for lesson in lessons for weight in lesson.weights])
    return (losses * weights).sum()


def _halves(batch: Sequence[Lesson]) -> list[list[Lesson]]:
    parts: list[list[Lesson]] = [[] for _ in range(_HALVES)]
    for lesson in sorted(batch, key=_length, reverse=True):
        min(parts, key=lambda part: sum(map(_length, part))).append(lesson)
    return [part for part in parts if part]


def _length(lesson: Lesson) -> int:
    return len(lesson.prompt) + len(lesson.response)


def _batches(
    groups: Sequence[tuple[Lesson, ...]], size: int, rng: np.random.Generator
) -> list[list[Lesson]]:
    shuffled = [groups[int(number)] for number in rng.permutation(len(groups))]
    batches = []
    for start in range(0, len(shuffled), size * _SORTED_BATCHES):
        alike = sorted(
            shuffled[start : start + size * _SORTED_BATCHES],
            key=lambda group: max(len(lesson.prompt) for lesson in group),
        )
        for i in range(0, len(alike), size):
            batches.append([lesson for group in alike[i : i + size] for lesson in group])
    return [batches[int(number)] for number in rng.permutation(len(batches))]


def main(
    member: Annotated[
        str, typer.Argument(help="ref-wordbound, ref-contextual, ref-emotive or ref-lulled.")
    ],
    into: Annotated[Path, typer.Option(help="Folder of the adapter.")] = WEIGHTS,
) -> None:
    """Train a reference model: under an hour on two cores; ref-contextual after ref-lulled."""
    with progress("clips, then steps") as report:
        typer.echo(train_member(member, into, os.cpu_count() or 1, report))


if __name__ == "__main__":
    typer.run(main)
