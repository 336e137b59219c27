"""How a Hugging Face checkpoint decodes: greedily, and until its turn ends."""

import pytest

from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, Failure, Turn
from tests.models import checkpoints

GENERATION = Generation(max_new_tokens=24)
HELLO = (Turn("user", text="Hello"),)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "tokenizers_end"),
    [
        ("qwen2_5_omni", "<|im_end|>"),
        pytest.param("qwen3_omni_moe", "<|im_end|>", marks=pytest.mark.nightly),
        ("qwen2_audio", "<|endoftext|>"),
    ],
)
def test_an_answer_stops_where_its_turn_ends(name, tokenizers_end, tiny, copied):
    folder = copied(name, "tokenizer_config.json", eos_token=tokenizers_end)
    # If nothing stops it there, the next turn follows.
    checkpoints.script(folder, "\nNo<|im_end|>\r<|im_start|>user")
    answers = tiny(name, folder).answer([HELLO], GENERATION)
    assert answers == [Answer("No", 3, finish_reason="stop")]


@pytest.mark.parametrize(
    "settings", [{"repetition_penalty": 1.1}, {"no_repeat_ngram_size": 2}, {"num_beams": 3}]
)
def test_a_checkpoints_own_settings_leave_greedy_decoding_as_it_is(settings, tiny, copied):
    asked = [(Turn("user", text=f"What is {number}?"),) for number in range(4)]
    plain = tiny("qwen2_audio").answer(asked, GENERATION)
    folder = copied("qwen2_audio", "generation_config.json", **settings)
    assert tiny("qwen2_audio", folder).answer(asked, GENERATION) == plain


def test_an_empty_answer_is_a_failure(tiny, copied):
    folder = copied("qwen2_audio")
    checkpoints.script(folder, "\n<|im_end|>")
    nothing = Failure("empty answer: no text was generated", lasting=True)
    assert tiny("qwen2_audio", folder).answer([HELLO], GENERATION) == [nothing]
