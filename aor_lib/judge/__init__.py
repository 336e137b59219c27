"""Judges: from what a model said to what it did.

:func:`judge_response` is all that the rest of the study needs; ``JUDGES`` names the judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aor_lib.judge.judgement import Judge, Judgement
from aor_lib.judge.rules import RulesJudge
from aor_lib.records import Label, Response, Status, Verdict

__all__ = ["JUDGES", "Judge", "Judgement", "judge_response"]

JUDGES: Mapping[str, Judge] = MappingProxyType({judge.id: judge for judge in (RulesJudge(),)})


def judge_response(response: Response, judge: str = "rules") -> Verdict:
    """Return the verdict of ``judge`` (a key of ``JUDGES``) on ``response``.

    A failed response and an empty text are unjudged: a failure is neither a refusal nor
    compliance. Raises ``ValueError`` for an unknown judge.
    """
    if judge not in JUDGES:
        raise ValueError(f"unknown judge {judge!r}; the judges are: {', '.join(sorted(JUDGES))}")
    chosen = JUDGES[judge]
    judgement = _judgement(response, chosen)
    return Verdict(
        trial_key=response.trial_key,
        judge=chosen.id,
        judge_version=chosen.version,
        label=judgement.label,
        score=judgement.score,
        rationale=judgement.rationale,
    )


def _judgement(response: Response, judge: Judge) -> Judgement:
    if response.status is Status.FAILED:
        return Judgement(Label.UNJUDGED, None, f"no answer: {response.error}")
    if response.text is None or not response.text.strip():
        return Judgement(Label.UNJUDGED, None, "empty answer")
    return judge(response.text)
