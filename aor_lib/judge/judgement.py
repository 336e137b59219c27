"""What a judge is, and its verdicts on responses."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass

from aor_lib.config.records import Flag, Label, Response, Status, Verdict
from aor_lib.judge.reading import has_final_answer

Exchange = tuple[str, str | None]
"""An answer, and the prompt that it answers (None: unknown)."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one answer does; ``rationale`` is the words that decided, or why it is unjudged.

    ``p_refusal`` is the probability of a full or partial refusal, None if unjudged.
    """

    label: Label
    p_refusal: float | None
    rationale: str
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True)
class Judge:
    """A judge: ``judge_all`` gives the judgement of each exchange, in order.

    An empty answer is unjudged. ``version`` changes whenever a judgement could.
    """

    id: str
    version: str
    judge_all: Callable[[Sequence[Exchange]], list[Judgement]]


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
        The request that each response answers, for judges that read it; None: unknown.
    reasoned
        Keys of trials that asked for reasoning before a final answer. Such a response is unjudged
        if it was cut off before its final answer.
    """
    reasons = [_why_unjudged(response, response.trial_key in reasoned) for response in responses]
    shown = zip(responses, reasons, prompts, strict=True)
    exchanges = [("" if why else response.text or "", prompt) for response, why, prompt in shown]
    judged = zip(responses, reasons, judge.judge_all(exchanges), strict=True)
    return [
        Verdict(
            trial_key=response.trial_key,
            judge=judge.id,
            judge_version=judge.version,
            **asdict(Judgement(Label.UNJUDGED, None, why) if why else judgement),
        )
        for response, why, judgement in judged
    ]


def _why_unjudged(response: Response, reasoned: bool) -> str | None:
    if response.status is Status.BLOCKED:
        return f"withheld by the provider: {response.error}"
    if response.status is Status.FAILED:
        return f"no answer: {response.error}"
    if reasoned and response.finish_reason == "length":
        return None if has_final_answer(response.text or "") else "cut off before its final answer"
    return None
