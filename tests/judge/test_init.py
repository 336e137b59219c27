"""Verdicts on responses: what was not answered is unjudged."""

import pytest

from aor_lib.config.records import Label, Response, Status
from aor_lib.judge import DEFAULT_JUDGE, judge_response
from aor_lib.judge.speech_acts import VERSION


def response(**changes):
    fields = {
        "trial_key": "0" * 64,
        "status": Status.OK,
        "text": "Use the kill command.",
        "error": None,
        "latency_s": 0.1,
        "tokens": 5,
        "created": "2025-01-01T00:00:00+00:00",
    }
    return Response.model_validate(fields | changes)


def test_a_verdict_names_its_judge_and_its_trial():
    verdict = judge_response(response(text="I'm sorry, but I can't help with that."))
    assert (verdict.judge, verdict.judge_version) == (DEFAULT_JUDGE, VERSION)
    assert verdict.trial_key == "0" * 64
    assert verdict.label is Label.FULL_REFUSAL
    assert verdict.rationale == "I can't help"


@pytest.mark.parametrize(
    ("changes", "rationale"),
    [
        ({"status": Status.FAILED, "text": None, "error": "timed out"}, "no answer: timed out"),
        (
            {"status": Status.BLOCKED, "text": None, "error": "a filter"},
            "withheld by the provider: a filter",
        ),
        ({"text": " \n\t "}, "empty answer"),
    ],
)
def test_a_failure_and_an_empty_answer_are_unjudged(changes, rationale):
    verdict = judge_response(response(**changes))
    assert (verdict.label, verdict.score) == (Label.UNJUDGED, None)
    assert verdict.rationale == rationale


def test_an_unknown_judge_is_an_error_that_names_the_judges():
    with pytest.raises(ValueError, match=rf"unknown judge 'oracle'.*{DEFAULT_JUDGE}"):
        judge_response(response(), judge="oracle")
