"""What is read of the responses of an API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aor_lib.models.api_budget import Prices
from aor_lib.models.api_messages import Request, read
from aor_lib.models.base import Answer, Failure

PRICES = Prices(text_input=1, audio_input=1, output=1, audio_tokens_per_s=1)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


def either(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(usual, usual, anything)


def holding(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return either(st.fixed_dictionaries({}, optional=fields))


surrogates = st.text(st.characters(), max_size=3)
responses = holding(
    choices=either(
        st.lists(
            holding(
                finish_reason=either(st.sampled_from(["stop", "length", "content_filter"])),
                message=holding(content=either(surrogates), refusal=either(surrogates)),
            ),
            max_size=2,
        )
    ),
    usage=holding(
        prompt_tokens=either(st.integers()),
        completion_tokens=either(st.integers()),
        prompt_tokens_details=holding(audio_tokens=either(st.integers())),
    ),
)


@given(responses)
def test_any_json_is_an_answer_that_can_be_kept_or_a_failure_or_nothing(response: Any) -> None:
    result = read(response)
    cost = PRICES.of(response, Request(b"", (), 1, 1.0))
    assert cost is None or cost > 0
    if isinstance(result, Answer):
        assert result.text.strip()
        result.text.encode()
        assert 0 <= result.tokens < 2**31
    else:
        assert result is None or isinstance(result, Failure)


def test_half_a_surrogate_pair_is_replaced() -> None:
    response = json.loads('{"choices": [{"message": {"content": "Fine \\ud83d"}}]}')
    assert read(response) == Answer("Fine ?", 0)


@pytest.mark.parametrize("tokens", [-1, 1e999, "7", 2**70, None])
def test_tokens_that_make_no_sense_are_not_counted(tokens: Any) -> None:
    response = {
        "choices": [{"message": {"content": "Fine."}}],
        "usage": {"completion_tokens": tokens},
    }
    assert read(response) == Answer("Fine.", 0)
