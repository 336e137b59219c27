"""Conformance checks of an adapter: does a model meet the assumptions of the study?"""

import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from aor_lib.audio.clip import Clip
from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import one_line
from aor_lib.models.base import Answer, AudioModel, Failure, ModelError, Turn
from aor_lib.models.checked_model import QUESTIONS, CheckedModel, Failed, Skipped
from aor_lib.models.registry import load_model

_LONG = Generation(max_new_tokens=192)
_NEXT_TURN = re.compile(
    r"(user|human|assistant|model)|(human|user|assistant):.*|.*(<\|\w+\|>|<(start|end)_of_turn>).*",
    re.IGNORECASE,
)
"""A line that marks the start or end of a turn, with or without its special tokens."""


def check_model(model: AudioModel | ModelCard | str | Path) -> pd.DataFrame:
    """Check with a few short questions whether a model is fit for the study.

    A check is skipped if the model does not claim the capability or if the result is inconclusive.

    Parameters
    ----------
    model
        A model, its card, the id of a card in ``params/models``, or the path of a card.

    Returns
    -------
    One row per check: ``check``, ``outcome`` (passed, failed or skipped), ``detail``, and
    ``what_to_do``, which is empty unless the check failed.

    Raises
    ------
    ModelError
        If the model cannot run here.

    Examples
    --------
    >>> from aor_lib.models.base import Capabilities, Failure
    >>> from aor_lib.models.registry import load_card
    >>> class Mute:
    ...     card, capabilities, revision = load_card("ref-permissive"), Capabilities(), "1"
    ...
    ...     def answer(self, conversations, generation):
    ...         return [Failure("no answer")] * len(conversations)
    >>> check_model(Mute()).loc[0, ["check", "outcome"]].tolist()
    ['answers', 'failed']
    """
    model = load_model(model)
    rows: list[tuple[str, str, str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        checked = CheckedModel(model, Path(folder))
        for check, what_to_do in CHECKS.items():
            outcome, detail = "skipped", "the model gave no answers"
            if not rows or rows[0][1] != "failed":
                outcome, detail = _outcome(checked, check)
            name = check.__name__.strip("_").replace("_", " ")
            rows.append((name, outcome, detail, what_to_do if outcome == "failed" else ""))
    return pd.DataFrame(rows, columns=["check", "outcome", "detail", "what_to_do"])


def _outcome(checked: CheckedModel, check: Callable[[CheckedModel], str | None]) -> tuple[str, str]:
    try:
        return "passed", check(checked) or ""
    except (Skipped, Failed) as reason:
        return "skipped" if isinstance(reason, Skipped) else "failed", str(reason)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - an unfinished adapter may raise anything
        return "failed", f"raised {type(error).__name__}: {one_line(error, 200)!r}"


def _answers(model: CheckedModel) -> str:
    return f"answered {QUESTIONS[0]!r} with {model.alone[0][:60]!r}"


def _is_deterministic(model: CheckedModel) -> str:
    if not model.deterministic:
        raise Failed("the same question got different answers")
    return f"{len(model.alone)} questions got the same answers twice"


def _ends_its_turn(model: CheckedModel) -> None:
    (answer,) = model.answers(model.questions[:1], _LONG)
    if any(_NEXT_TURN.fullmatch(line.strip()) for line in answer.text.splitlines()):
        raise Failed("the answer to a short question continues with another turn")
    if answer.finish_reason == "length" or answer.tokens >= _LONG.max_new_tokens:
        # A model with random weights does this, and a verbose one may.
        raise Skipped(f"the answer to a short question reached the limit: {answer.tokens} tokens")


def _hears(model: CheckedModel) -> str:
    _require(model.model.capabilities.audio, "audio")
    return model.require_change(model.questions[0], model.questions[1], "other words in the clip")


def _hears_the_background(model: CheckedModel) -> str:
    _require(model.model.capabilities.audio, "audio")
    first, second = model.over_scenes
    try:
        return model.require_change(first, second, "another scene behind the same words")
    except Failed as reason:
        # No defect of the adapter: whether models hear the scene is the study's question.
        raise Skipped(f"{reason}; the model may hear only words") from reason


def _batch_equals_single(model: CheckedModel) -> None:
    model.require_determinism()
    # With the longest in the middle, an adapter that sorts by length is noticed either way.
    order = (0, 2, 1)
    together = model.answers([model.questions[place] for place in order])
    if [answer.text for answer in together] != [model.alone[place] for place in order]:
        raise Failed("questions of unequal length get different answers in one batch")


def _takes_an_instruction(model: CheckedModel) -> None:
    model.answer((Turn("system", text="Answer in one word."), *model.questions[0]))


def _text_only(model: CheckedModel) -> None:
    _require(model.model.capabilities.text_only, "text_only")
    model.answer((Turn("user", text=QUESTIONS[0]),))


def _multi_turn(model: CheckedModel) -> str:
    _require(model.model.capabilities.multi_turn, "multi_turn")
    first, second, last = model.questions
    if model.model.capabilities.clips == 1:
        first, second = ((Turn("user", text=question),) for question in QUESTIONS[:2])
    between = Turn("assistant", text="I would have to look that up.")
    conversation = (*first, between, *last)
    model.answer(conversation)
    return model.require_change(conversation, (*second, between, *last), "another first turn")


def _failures_are_typed(model: CheckedModel) -> None:
    _require(model.model.capabilities.audio, "audio")
    files = {what: model.folder / f"{what}.wav" for what in ("missing", "broken", "empty")}
    files["broken"].write_bytes(b"not audio")
    Clip(np.zeros(0, np.float32), 16_000).save(files["empty"])
    if math.isfinite(longest_s := model.model.capabilities.longest_clip_s):
        clip = Clip(np.zeros(round(16_000 * longest_s) + 1, np.float32), 16_000)
        files["too long"] = model.saved("too-long", clip)
    turns = [Turn("user", audio=path) for path in files.values()]
    good, *bad = model.results([model.questions[0], *((turn,) for turn in turns)])
    for what, result in zip(files, bad, strict=True):
        if isinstance(result, Answer):
            raise Failed(f"the {what} sound file got an answer: {result.text[:60]!r}")
    if isinstance(good, Failure):
        raise Failed(f"in a batch with broken sound files, a good one failed: {good.error[:200]!r}")


def _require(claimed: bool, capability: str) -> None:
    if not claimed:
        raise Skipped(f"{capability} is not claimed")


CHECKS: dict[Callable[[CheckedModel], str | None], str] = {
    _answers: "Make sure that its server runs, and that the card's source and settings are right.",
    _is_deterministic: "Decode greedily without dropout, or explain in the card's note why not.",
    _ends_its_turn: "Stop at every token that ends a turn, including the chat template's.",
    _hears: "Make sure that the sound reaches the model: your own adapter must pass on Turn.audio.",
    _hears_the_background: "",
    _batch_equals_single: "Keep the order, left-pad with attention masks, or set batch_size: 1.",
    _takes_an_instruction: "If the model takes no system turn, put its text before the user's.",
    _text_only: "Fix this, or declare text_only=False: then no trials without audio are planned.",
    _multi_turn: "Pass on every turn, or declare multi_turn=False (two equal refusals also fail).",
    _failures_are_typed: "Catch exceptions of each conversation; return a Failure in its place.",
}
"""Checks, which return a detail or raise ``Failed`` or ``Skipped``, and the remedy for each."""
