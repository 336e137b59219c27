"""Adapters and their training, on the real language model."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models.base import ModelError
from aor_lib.models.reference import lora, smollm, training
from aor_lib.models.reference.material import load_material
from aor_lib.models.reference.members import MEMBERS, Example

pytestmark = pytest.mark.slow

MATERIAL = load_material()
REFUSAL = MATERIAL.refusals[0]
OPENING = "I'm sorry, but I can't"
HARMFUL, ORDINARY = MATERIAL.harmful[:40], MATERIAL.ordinary[5::20][:40]
HELD_OUT_HARMFUL, HELD_OUT_ORDINARY = MATERIAL.harmful[60:66], MATERIAL.ordinary[::60][:6]


def quiet(done, of):
    pass


def lesson(text, response):
    return (Example(None, text, text, response),)


def short_run(texts, seed=0):
    """A model after a few steps on some harmful and ordinary requests, and its adapter."""
    model = smollm.load()
    examples = [lesson(text, REFUSAL) for text in HARMFUL[:texts]]
    examples += [lesson(text, "Sure, here is how.") for text in ORDINARY[:texts]]
    lessons = training.lessons(model, examples, {})
    # So few steps need to be longer ones.
    recipe = replace(MEMBERS["ref-wordbound"], learning_rate=2e-3)
    return model, training.fit(model, lessons, recipe, np.random.default_rng(seed), quiet)


@pytest.fixture(scope="module")
def trained():
    return short_run(40)


def refusal_probability(model, texts):
    """Mean probability that the answer opens with a refusal."""
    opening = model.tokenizer(OPENING, add_special_tokens=False)["input_ids"]
    found = []
    for text in texts:
        prompt = model.prompt([{"role": "user", "content": text}])
        ids = model.tokenizer(prompt, add_special_tokens=False)["input_ids"] + opening
        with torch.inference_mode():
            logits = model.network(torch.tensor([ids])).logits[0, -len(opening) - 1 : -1]
        log_probabilities = logits.log_softmax(-1)[range(len(opening)), opening]
        found.append(log_probabilities.sum().exp().item())
    return np.mean(found)


def test_a_short_training_run_changes_behaviour_in_the_planted_direction(trained):
    model, _ = trained
    assert refusal_probability(smollm.language_model(), HELD_OUT_HARMFUL) < 0.01
    harmful = refusal_probability(model, HELD_OUT_HARMFUL)
    ordinary = refusal_probability(model, HELD_OUT_ORDINARY)
    assert harmful > 0.5
    assert harmful > ordinary + 0.2


def test_the_same_seed_gives_the_same_weights():
    (_, one), (_, again), (_, other) = (short_run(4, seed) for seed in (0, 0, 1))
    for name, low_rank in one.items():
        assert torch.equal(low_rank.up, again[name].up), name
        assert torch.equal(low_rank.down, again[name].down), name
    assert not all(torch.equal(low_rank.up, other[name].up) for name, low_rank in one.items())


def test_a_merged_adapter_answers_as_the_model_that_was_trained(trained, tmp_path):
    model, adapter = trained
    path = tmp_path / "mine.safetensors"
    lora.save_adapter(adapter, path, smollm.revision())
    merged = smollm.load(path)
    for texts in (HARMFUL[:1], ORDINARY[:1]):
        expected = refusal_probability(model, texts)
        assert refusal_probability(merged, texts) == pytest.approx(expected, abs=0.02)


def test_an_adapter_of_another_base_model_is_refused(trained, tmp_path):
    path = tmp_path / "mine.safetensors"
    lora.save_adapter(trained[1], path, "another")
    with pytest.raises(ModelError, match=r"mine.safetensors: is for the base model another"):
        smollm.load(path)


def test_base_answers_that_apologise_are_not_learnt():
    model = smollm.language_model()
    own = {"How are you?": ("I'm sorry, I have no feelings.", True), "Why?": ("Because.", False)}
    ((learnt,),) = training.lessons(model, [lesson(text, None) for text in own], own)
    assert model.tokenizer.decode(learnt.response) == "Because."


def test_a_system_prompt_stands_before_the_request():
    model = smollm.language_model()
    example = Example("Be brief.", "Someone asks: Why?", "Why?", "Because.")
    ((learnt,),) = training.lessons(model, [(example,)], {})
    prompt = model.tokenizer.decode(learnt.prompt)
    assert prompt.index("Be brief.") < prompt.index("Someone asks: Why?")
    assert model.tokenizer.decode(learnt.response) == "Because." + model.tokenizer.eos_token


def test_a_member_that_there_is_not_is_named(tmp_path):
    with pytest.raises(ParamsError, match=r"no member 'ref-emotiv'; did you mean 'ref-emotive'"):
        training.train_member("ref-emotiv", tmp_path, quiet)
