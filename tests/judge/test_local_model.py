"""Local language models as judges: what they cannot do is a reason, not a crash."""

import pytest

from aor_lib.config.records import Label
from aor_lib.judge.llm import JudgeCard, llm_judge
from aor_lib.models.base import ModelError
from aor_lib.models.registry import load_model

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
EXCHANGES = [("No.", "Shall I?"), ("Certainly not, and I mean it.", "Shall I?")]


def local_judge(source, **settings):
    card = JudgeCard(
        id="tiny",
        title="Tiny",
        kind="hf",
        licence="none",
        source=str(source),
        settings={"architecture": "text", "device_map": "cpu"} | settings,
        generation={"max_new_tokens": 20},
    )
    return llm_judge(card, load_model(card))


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    """A language model of random weights, whose tokens are bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-lm")
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>").save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    sizes |= {"num_attention_heads": 2, "max_position_embeddings": 8192}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(letters) + 1, **sizes)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"chat_template": TEMPLATE}, "JSON"), ({}, "template")],
    ids=["babble", "no chat template"],
)
def test_a_reply_that_is_no_verdict_is_unjudged(tiny_model, settings, reason):
    for judgement in local_judge(tiny_model, **settings).judge_all(EXCHANGES):
        assert (judgement.label, judgement.p_refusal) == (Label.UNJUDGED, None)
        assert reason in judgement.rationale


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelError, match="none"):
        local_judge(tmp_path / "none")
