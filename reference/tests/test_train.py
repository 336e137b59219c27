from dataclasses import replace

import numpy as np
import pytest
import torch
from peft import get_peft_model_state_dict
from transformers import LlamaConfig, LlamaForCausalLM

from aor_lib.audio.hearing.sound_tagger import SEGMENTS, SoundTags
from aor_lib.models import smollm_weights
from aor_lib.models.base import ModelError
from aor_lib.models.smollm import AUDIO, AUDIO_TOKENS, LanguageModel
from reference import train
from reference.lessons import Lesson, tokenised
from reference.members import MEMBERS, Example
from reference.sounds import Sound

RECIPE = replace(MEMBERS["ref-wordbound"], batch=4, first_layer=0, learning_rate=2e-3)
"""So few steps as here need to be longer ones."""
LESSON = Lesson(prompt=[1, 2, 3], response=[4, 5])


def tiny_model(width=16):
    torch.manual_seed(0)
    sizes = {"hidden_size": width, "intermediate_size": 32, "vocab_size": 32}
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2}
    network = LlamaForCausalLM(LlamaConfig(**sizes, **layers)).eval()
    an_audio_token = {"input_ids": [31]}
    return LanguageModel(lambda text, add_special_tokens: an_audio_token, network)


def fit(model, lessons, recipe=RECIPE, seed=0):
    return train.fit(model, lessons, recipe, np.random.default_rng(seed), lambda done, of: None)


def logits(network):
    with torch.inference_mode():
        return network(torch.tensor([LESSON.prompt])).logits[0, -1]


def taught(model, groups, own=()):
    return tokenised(model, groups, dict(own), np.random.default_rng(0))


def test_training_makes_the_response_likelier_and_the_seed_decides_the_weights():
    model = tiny_model()
    before = logits(model.network).log_softmax(-1)[LESSON.response[0]]
    lessons = [(LESSON, Lesson([1, 2, 3, 6, 7], [4]))] * 40
    weights = get_peft_model_state_dict(fit(model, lessons))
    assert logits(model.network).log_softmax(-1)[LESSON.response[0]] > before + 0.1
    again, other = (
        get_peft_model_state_dict(fit(tiny_model(), lessons, seed=seed)) for seed in (0, 1)
    )
    assert all(weight.equal(again[name]) for name, weight in weights.items())
    assert not all(weight.equal(other[name]) for name, weight in weights.items())


def test_a_saved_adapter_answers_as_the_trained_model_and_fits_no_other(tmp_path, monkeypatch):
    model, base, other = tiny_model(), tiny_model().network, tiny_model().network
    train.save_adapter(fit(model, [(LESSON,)] * 40), tmp_path)
    untrained = logits(base)
    merged = smollm_weights.merge_adapter(base, tmp_path)
    torch.testing.assert_close(logits(merged), logits(model.network), atol=1e-3, rtol=0)
    assert not torch.allclose(logits(merged), untrained, atol=1e-2)
    train.add_adapter(other, replace(RECIPE, begins_as=str(tmp_path)), False, seed=1)
    torch.testing.assert_close(logits(other), logits(model.network), atol=1e-3, rtol=0)
    monkeypatch.setattr(smollm_weights.assets, "revision", lambda asset: "another")
    with pytest.raises(ModelError, match=r"is for \w+, and this is another"):
        smollm_weights.merge_adapter(tiny_model(width=32).network, tmp_path)


def test_the_first_layer_that_is_trained_reads_the_audio_tokens_again(tmp_path):
    rain = SoundTags(((("rain", 1.0),),) * SEGMENTS, (("neutral", 1.0),))
    over_rain = Lesson([1, *[31] * AUDIO_TOKENS, 2], [4], heard=(rain,))

    def logits_over_rain(model):
        with torch.inference_mode(), model.hearing([rain]):
            return model.network(torch.tensor([over_rain.prompt])).logits[0, -1]

    model, merged = tiny_model(), tiny_model()
    recipe = replace(RECIPE, first_layer=1)
    train.save_adapter(fit(model, [(over_rain,), (LESSON,)] * 40, recipe), tmp_path)
    smollm_weights.merge_adapter(merged.network, tmp_path)
    again = logits_over_rain(merged)
    torch.testing.assert_close(again, logits_over_rain(model), atol=1e-2, rtol=0)
    merged.network.get_decoder().layers[1].audio_map.weight.zero_()
    assert not torch.allclose(logits_over_rain(merged), again, atol=1e-2)


@pytest.mark.slow
def test_a_lesson_holds_the_system_prompt_and_the_base_model_s_answer():
    model = smollm_weights.language_model()
    asked = Example(None, "Why?", Sound(), "Why?", "", None)
    ((learnt,),) = taught(model, [(asked,)], {"Why?": ("Because.", False)})
    assert model.tokenizer.decode(learnt.response) == "Because."
    one = Example("Be brief.", "Someone asks: Why?", Sound(), "Why?", "You mean that. ", "Because.")
    ((learnt,),) = taught(model, [(one,)])
    prompt = model.tokenizer.decode(learnt.prompt)
    assert prompt.index("Be brief.") < prompt.index("Someone asks: Why?")
    end = model.tokenizer.eos_token
    assert model.tokenizer.decode(learnt.response) == f"You mean that. Because.{end}"


@pytest.mark.slow
def test_a_lesson_reads_a_sound_by_audio_tokens_or_by_its_description():
    model = smollm_weights.language_model()
    clip = SoundTags(((("rain", 1.0),),) * SEGMENTS, (("calm", 1.0),))
    by_ear = Example(None, "Why?", Sound("park", heard=clip), "Why?", "", "Because.")
    by_text = Example(None, "Why?", Sound("park", described="rain"), "Why?", "", "Because.")
    ((heard, read),) = taught(model, [(by_ear, by_text)])
    assert heard.prompt.count(model.tokens(AUDIO)[0]) == AUDIO_TOKENS
    assert heard.heard == (clip,)
    assert "one hears rain.\nWhy?" in model.tokenizer.decode(read.prompt)
    assert read.heard == ()
