"""Judges: from what a model said to what it did.

:func:`judge_response` is all that the rest of the study needs; ``JUDGES`` names the judges of the
library.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aor_lib.config.records import Label, Response, Status, Verdict
from aor_lib.judge.judgement import Judge, Judgement
from aor_lib.judge.speech_acts import SpeechActsJudge

__all__ = ["DEFAULT_JUDGE", "JUDGES", "Judge", "Judgement", "judge_response"]

DEFAULT_JUDGE = SpeechActsJudge.id
"""Judge of a study that names none."""

JUDGES: Mapping[str, Judge] = MappingProxyType({judge.id: judge for judge in (SpeechActsJudge(),)})


def judge_response(
    response: Response, judge: Judge | str = DEFAULT_JUDGE, prompt: str | None = None
) -> Verdict:
    """Return the verdict of ``judge`` (or of that entry of ``JUDGES``) on ``response``.

    ``prompt`` is what the model was asked, for judges that read it. A failed or blocked response
    and an empty text are unjudged: they are neither a refusal nor compliance. Raises
    ``ValueError`` for an unknown judge.
    """
    if isinstance(judge, str):
        if judge not in JUDGES:
            names = ", ".join(sorted(JUDGES))
            raise ValueError(f"unknown judge {judge!r}; the judges are: {names}")
        judge = JUDGES[judge]
    judgement = _judgement(response, judge, prompt)
    return Verdict(
        trial_key=response.trial_key,
        judge=judge.id,
        judge_version=judge.version,
        label=judgement.label,
        score=judgement.score,
        rationale=judgement.rationale,
        flags=judgement.flags,
    )


def _judgement(response: Response, judge: Judge, prompt: str | None) -> Judgement:
    if response.status is Status.BLOCKED:
        return Judgement(Label.UNJUDGED, None, f"withheld by the provider: {response.error}")
    if response.status is Status.FAILED:
        return Judgement(Label.UNJUDGED, None, f"no answer: {response.error}")
    if response.text is None or not response.text.strip():
        return Judgement(Label.UNJUDGED, None, "empty answer")
    return judge(response.text, prompt)
