"""Adapters and their training, on the real language model."""

import numpy as np
import pytest
import torch

from aor_lib.models import smollm
from aor_lib.models.base import ModelError
from aor_lib.panel import lora, training
from aor_lib.panel.material import load_material
from aor_lib.panel.members import Example
from aor_lib.typed_yaml import ParamsError

pytestmark = pytest.mark.slow

REFUSAL = "I'm sorry, but I can't help with that."
MATERIAL = load_material()
HARMFUL, ORDINARY = MATERIAL.harmful[:20], MATERIAL.ordinary[:20]


def quiet(done, of):
    pass


def short_run(passes, seed=0):
    """A model after a few steps on some harmful and ordinary requests, and its adapter."""
    model = smollm.load()
    examples = [Example(text, text, REFUSAL) for text in HARMFUL]
    examples += [Example(text, text, "Sure, here is how.") for text in ORDINARY]
    lessons = training.lessons(model, examples * passes, {})
    return model, training.fit(model, lessons, np.random.default_rng(seed), quiet)


@pytest.fixture(scope="module")
def trained():
    return short_run(6)


def odds_of_refusal(model, text):
    """Log odds of the first token of the refusal against that of the answer."""
    prompt = model.prompt([{"role": "user", "content": text}])
    with torch.inference_mode():
        logits = model.network(**model.tokenizer(prompt, return_tensors="pt")).logits[0, -1]
    refusal, answer = (model.tokenizer(word)["input_ids"][0] for word in ("I", "Sure"))
    return float(logits[refusal] - logits[answer])


def test_a_short_training_run_changes_behaviour_in_the_planted_direction(trained):
    base, (model, _) = smollm.language_model(), trained
    harmful, ordinary = (
        np.mean([odds_of_refusal(model, text) - odds_of_refusal(base, text) for text in texts])
        for texts in (HARMFUL, ORDINARY)
    )
    assert harmful > ordinary + 2


def test_the_same_seed_gives_the_same_weights():
    (_, one), (_, again), (_, other) = (short_run(1, seed) for seed in (0, 0, 1))
    for name, low_rank in one.items():
        assert torch.equal(low_rank.up, again[name].up), name
        assert torch.equal(low_rank.down, again[name].down), name
    assert not all(torch.equal(low_rank.up, other[name].up) for name, low_rank in one.items())


def test_a_merged_adapter_answers_as_the_model_that_was_trained(trained, tmp_path):
    model, adapter = trained
    path = tmp_path / "mine.safetensors"
    lora.save_adapter(adapter, path, smollm.revision())
    merged = smollm.load(path)
    for text in (HARMFUL[0], ORDINARY[0]):
        assert odds_of_refusal(merged, text) == pytest.approx(odds_of_refusal(model, text), abs=0.1)


def test_an_adapter_of_another_base_model_is_refused(trained, tmp_path):
    path = tmp_path / "mine.safetensors"
    lora.save_adapter(trained[1], path, "another")
    with pytest.raises(ModelError, match=r"mine.safetensors: is for the base model another"):
        smollm.load(path)


def test_base_answers_that_apologise_are_not_learnt():
    model = smollm.language_model()
    own = {"How are you?": ("I'm sorry, I have no feelings.", True), "Why?": ("Because.", False)}
    (lesson,) = training.lessons(model, [Example(text, text, None) for text in own], own)
    assert model.tokenizer.decode(lesson.response) == "Because."


def test_a_member_that_there_is_not_is_named(tmp_path):
    with pytest.raises(ParamsError, match=r"no member 'ref-emotiv'; did you mean 'ref-emotive'"):
        training.train_member("ref-emotiv", tmp_path, quiet)
