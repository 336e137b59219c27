import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aor_lib.models.api_messages import Request, read_response
from aor_lib.models.api_settings import Budget, Prices, committed_usd
from aor_lib.models.base import Answer

PRICES = Prices(text_input=1, audio_input=10, output=4, audio_tokens_per_s=10)
TEXT = Request({}, max_text_tokens=20, audio_s=0)
SOUND = Request({}, max_text_tokens=20, audio_s=2)


def usage(prompt, completion, total=None, audio=None):
    details = None if audio is None else {"audio_tokens": audio}
    counted = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return {"usage": {**counted, "prompt_tokens_details": details}}


@given(
    requests=st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1), st.booleans())),
    max_spend=st.integers(1, 500),
)
def test_concurrent_requests_never_exceed_the_cap(requests, max_spend):
    committed_usd.clear()
    under_way: list[tuple[int, float]] = []
    for most_usd, share, one_ends in requests:
        budget = Budget(max_spend, "tiny")  # as each question makes another one
        with contextlib.suppress(RuntimeError):
            budget.reserve(most_usd)
            under_way.append((most_usd, share))
        assert committed_usd["tiny"] <= max_spend * (1 + 1e-9)
        if one_ends and under_way:
            most_usd, share = under_way.pop(0)
            budget.settle(most_usd, most_usd * share)


@pytest.mark.parametrize(
    ("response", "asked", "millionths"),
    [
        (usage(30, 5, 35, audio=20), SOUND, 10 + 200 + 20),
        (usage(30, 5, 35), TEXT, 30 + 20),
        # Sound that is not told apart, or not counted, has the price of sound.
        (usage(30, 5, 35), SOUND, 300 + 20),
        (usage(30, 5, 35, audio=0), SOUND, 300 + 20),
        # Thoughts that only the total counts are output.
        (usage(30, 5, 45), TEXT, 30 + 60),
    ],
)
def test_a_request_costs_what_its_usage_says(response, asked, millionths):
    assert PRICES.billed_usd(response, asked) == pytest.approx(millionths / 1e6)


def test_what_no_text_or_table_can_hold_is_left_out_of_an_answer():
    response = {"choices": [{"message": {"content": "Crouch \ud83d"}}], **usage("?", 2**40)}
    assert read_response(response, "sk-secret") == Answer("Crouch ?", 0)
    assert PRICES.billed_usd(response, TEXT) is None
