"""Local language models as judges: what they cannot do is a reason, not a crash."""

import pytest

from aor_lib.config.records import Label
from aor_lib.judge.llm import JudgeCard, llm_judge
from aor_lib.models.registry import load_model

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
EXCHANGES = [("No.", "Shall I?"), ("Certainly not, and I mean it.", "Shall I?")]


def local_judge(source):
    about = {"id": "tiny", "title": "Tiny", "kind": "hf", "licence": "none"}
    settings = {"architecture": "text", "device_map": "cpu"}
    card = JudgeCard(
        **about, source=str(source), settings=settings, generation={"max_new_tokens": 20}
    )
    return llm_judge(card, load_model(card))


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    """A language model of random weights, whose tokens are bytes."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from tests.models import checkpoints

    folder = tmp_path_factory.mktemp("tiny-lm")
    tokenizer = checkpoints._tokenizer([], {})
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    sizes |= {"num_attention_heads": 2, "max_position_embeddings": 8192}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder)
    return folder


def test_what_a_model_babbles_is_unjudged_and_what_it_cannot_be_asked_fails(tiny_model):
    for failure in local_judge(tiny_model).judge_all(EXCHANGES):
        assert "template" in failure.error
    (tiny_model / "chat_template.jinja").write_text(TEMPLATE)
    for judgement in local_judge(tiny_model).judge_all(EXCHANGES):
        assert (judgement.label, judgement.p_refusal) == (Label.UNJUDGED, None)
        assert "JSON" in judgement.rationale
