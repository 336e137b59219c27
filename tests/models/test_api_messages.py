"""Responses of an API, read as answers or failures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aor_lib.models.api_budget import Prices
from aor_lib.models.api_messages import Request, read_response
from aor_lib.models.base import Answer, Failure

KEY = "sk-secret"
PRICES = Prices(text_input=1, audio_input=1, output=1, audio_tokens_per_s=1)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


def either(usual):
    return st.one_of(usual, usual, anything)


def holding(**fields):
    return either(st.fixed_dictionaries({}, optional=fields))


surrogates = st.text(st.characters(), max_size=3)
choices = holding(
    finish_reason=either(st.sampled_from(["stop", "length", "content_filter"])),
    message=holding(content=either(surrogates), refusal=either(surrogates)),
)
responses = holding(
    choices=either(st.lists(choices, max_size=2)),
    usage=holding(
        prompt_tokens=either(st.integers()),
        completion_tokens=either(st.integers()),
        prompt_tokens_details=holding(audio_tokens=either(st.integers())),
    ),
)


@given(responses)
def test_any_json_is_an_answer_that_can_be_kept_or_a_failure(response):
    result = read_response(response, KEY)
    cost = PRICES.billed_usd(response, Request({}, 1, 1.0))
    assert cost is None or cost > 0
    if isinstance(result, Answer):
        assert result.text.strip()
        result.text.encode()
        assert 0 <= result.tokens < 2**31
    else:
        assert isinstance(result, Failure)


@pytest.mark.parametrize("tokens", [-1, "7", 2**70, None])
def test_senseless_tokens_are_not_counted_and_half_a_character_is_replaced(tokens):
    choice = {"message": {"content": "Fine \ud83d"}}
    response = {"choices": [choice], "usage": {"completion_tokens": tokens}}
    assert read_response(response, KEY) == Answer("Fine ?", 0)
