"""How a Hugging Face checkpoint decodes: greedily, and until its turn ends."""

import pytest

from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, Turn
from tests.models import checkpoints

GENERATION = Generation(max_new_tokens=24)
HELLO = (Turn("user", text="Hello"),)
SCRIPT = "\nNo<|im_end|>\r<|im_start|>user"
"""After a prompt: No, the end of the turn, and if nothing stops there the next turn."""

pytestmark = pytest.mark.slow


@pytest.fixture
def scripted(copied):
    """Copy a tiny checkpoint and have it answer No; return its folder."""

    def copy(name, *file, **settings):
        folder = copied(name, *file, **settings)
        checkpoints.script(folder, SCRIPT)
        return folder

    return copy


@pytest.mark.parametrize(
    "name", ["qwen2_5_omni", pytest.param("qwen3_omni_moe", marks=pytest.mark.nightly)]
)
def test_a_thinker_stops_where_its_turn_ends(name, tiny, scripted):
    answers = tiny(name, scripted(name)).answer([HELLO], GENERATION)
    assert answers == [Answer("No", 3, finish_reason="stop")]


def test_the_end_of_a_turn_ends_an_answer_where_the_tokenizers_own_end_is_another(tiny, scripted):
    folder = scripted("qwen2_audio", "tokenizer_config.json", eos_token="<|endoftext|>")
    answers = tiny("qwen2_audio", folder).answer([HELLO], GENERATION)
    assert answers == [Answer("No", 3, finish_reason="stop")]


def test_an_answer_that_the_limit_cuts_off_says_so(tiny, scripted):
    model = tiny("qwen2_audio", scripted("qwen2_audio"))
    assert model.answer([HELLO], Generation(max_new_tokens=2)) == [
        Answer("No", 2, finish_reason="length")
    ]


@pytest.mark.parametrize(
    "settings", [{"repetition_penalty": 1.1}, {"no_repeat_ngram_size": 2}, {"num_beams": 3}]
)
def test_a_checkpoints_own_settings_leave_greedy_decoding_as_it_is(settings, tiny, copied):
    asked = [(Turn("user", text=f"What is {number}?"),) for number in range(4)]
    plain = tiny("qwen2_audio").answer(asked, GENERATION)
    folder = copied("qwen2_audio", "generation_config.json", **settings)
    assert tiny("qwen2_audio", folder).answer(asked, GENERATION) == plain


def test_tokens_that_are_not_the_likeliest_are_counted(tiny):
    model = tiny("qwen2_audio")
    assert model.departures(HELLO, GENERATION) == 0
    model.load()[0].generation_config.repetition_penalty = 1.5
    assert model.departures(HELLO, GENERATION) > 0
