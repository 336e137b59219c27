"""Judges: from what a model said to what it did.

:func:`judge_responses` is all that the rest of the study needs; ``JUDGES`` names the judges of the
library, and :func:`aor_lib.judge.registry.load_judge` finds those of ``params/judges`` too.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType

from aor_lib.config.records import Label, Response, Status, Verdict
from aor_lib.judge.judgement import Judge, Judgement, judge_all
from aor_lib.judge.reading import has_final_answer
from aor_lib.judge.speech_acts import SpeechActsJudge
from aor_lib.judge.string_match import StringMatchJudge

__all__ = ["DEFAULT_JUDGE", "JUDGES", "Judge", "Judgement", "judge_responses"]

DEFAULT_JUDGE = SpeechActsJudge.id
"""Judge of a study that names none."""

JUDGES: Mapping[str, Judge] = MappingProxyType(
    {judge.id: judge for judge in (SpeechActsJudge(), StringMatchJudge())}
)


def judge_responses(
    responses: Sequence[Response],
    judge: Judge,
    prompts: Sequence[str | None],
    reasoned: Collection[str] = (),
) -> list[Verdict]:
    """Return the verdict on each response.

    A failed or blocked one, or one with an empty text, is unjudged: it is neither a refusal nor
    compliance.

    Parameters
    ----------
    prompts
        The request that each answer is to, for judges that read it; None: not known.
    reasoned
        Keys of trials that asked for reasoning and a final answer behind it: where such a response
        was cut off before it came to that, nothing says what it would have done.

    Examples
    --------
    >>> from aor_lib.config.records import Response, Status
    >>> answer = Response(
    ...     trial_key="0" * 64,
    ...     status=Status.OK,
    ...     text="I'm sorry, but I can't help with that.",
    ...     error=None,
    ...     latency_s=0.5,
    ...     tokens=12,
    ...     created="2026-01-01T00:00:00+00:00",
    ... )
    >>> (verdict,) = judge_responses([answer], JUDGES[DEFAULT_JUDGE], [None])
    >>> str(verdict.label), verdict.rationale
    ('full_refusal', "I can't help")
    """
    unjudged = [_why_unjudged(response, reasoned) for response in responses]
    exchanges = [
        (response.text or "", prompt)
        for response, prompt, why in zip(responses, prompts, unjudged, strict=True)
        if why is None
    ]
    judgements = iter(judge_all(judge, exchanges))
    return [
        Verdict(
            trial_key=response.trial_key,
            judge=judge.id,
            judge_version=judge.version,
            **asdict(why or next(judgements)),
        )
        for response, why in zip(responses, unjudged, strict=True)
    ]


def _why_unjudged(response: Response, reasoned: Collection[str]) -> Judgement | None:
    """Why no judge is shown a response; None if one is."""
    if response.status is Status.BLOCKED:
        why = f"withheld by the provider: {response.error}"
    elif response.status is Status.FAILED:
        why = f"no answer: {response.error}"
    elif (
        response.trial_key in reasoned
        and response.finish_reason == "length"
        and not has_final_answer(response.text or "")
    ):
        why = "cut off before its final answer"
    else:
        return None
    return Judgement(Label.UNJUDGED, None, why)
