"""Retry-After and the wait between tries; what is quoted of an API."""

from __future__ import annotations

import math

import pytest

from aor_lib.models.api_errors import delay_s, is_withheld, quoted, retry_after_s

DATE = "Fri, 21 Nov 2025 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        # By the server's clock, whatever the time is here.
        ({"date": DATE, "retry-after": "Fri, 21 Nov 2025 10:01:30 GMT"}, 90),
        ({"date": DATE, "retry-after": "Fri, 21 Nov 2025 09:00:00 GMT"}, 0),
        ({"retry-after": DATE}, 0),
        ({"retry-after": "1e999"}, math.inf),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "soon"}, None),
        ({"retry-after": "Fri, 99 Nov 2025 10:00:00 GMT"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_the_wait_between_tries_doubles_up_to_a_minute() -> None:
    waits = [delay_s(tries) for tries in range(1, 40)]
    for tries, wait in enumerate(waits):
        longest = min(0.5 * 2**tries, 60)
        assert 0.75 * longest <= wait <= longest


@pytest.mark.parametrize(
    "reason", ["content_filter", "SAFETY", "content_filter: PROHIBITED_CONTENT", "RECITATION"]
)
def test_the_reasons_of_filters_are_known_in_every_spelling(reason: str) -> None:
    assert is_withheld(reason)


@pytest.mark.parametrize("reason", ["stop", "length", "", None, 7, ["content_filter"]])
def test_other_reasons_are_not_those_of_filters(reason: object) -> None:
    assert not is_withheld(reason)


def test_what_is_quoted_is_a_short_line_without_the_key() -> None:
    said = quoted("no\n  <b>sk-secret</b> " + "x" * 900, "sk-secret")
    assert said.startswith("no <b>[key]</b> xxx")
    assert len(said) == 500
