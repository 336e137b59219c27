"""Estimates of how likely requests are to be refused, for a model as it is at the moment.

To have answers written and judged for every candidate would take too long: a first token takes a
hundredth of the time, and mostly settles what an answer will be (the refusal metric of Arditi et
al., NeurIPS 2024, section 2.3: log-odds of the tokens that refusals begin with). Which tokens these
are, and what log-odds mean for the judged answer, is learnt from answers of the same model. For one
that begins refusals and answers alike, the beginning of its answer is judged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from aor_lib.config.records import Generation
from aor_lib.judge import Judge
from aor_lib.models.base import Conversation, Failure, ModelError
from aor_lib.steering import SteeringError
from aor_lib.steering.activations import Floats, OpenModel
from aor_lib.steering.directions import Mask

BEGINNINGS = (12, 24, 48, 96)
"""Tokens of an answer that are tried, the fewest first, until they tell refusals from the rest."""
_SHOWN = 12
"""Refusals, and other answers, that a beginning must tell apart, if there are so many."""

Estimate = Callable[[Sequence[Conversation]], npt.NDArray[np.float64]]
"""Probability that each conversation is refused: float64, ``(conversations,)``."""
TELLS = 0.9
"""Least area under the curve at which estimates tell refusals from other answers."""
_CERTAIN = 30.0
"""Largest log-odds: beyond, a float32 probability is 0 or 1."""


@dataclass(frozen=True)
class RefusalOdds:
    """From logits to the probability that the answer is judged a refusal.

    ``tokens``: those that refusals begin with. ``slope`` and ``intercept`` turn their log-odds into
    the log-odds of a refusal. Logits are float32, ``(..., vocabulary)``; results are float64,
    ``(...)``.
    """

    tokens: tuple[int, ...]
    slope: float
    intercept: float

    def log_odds(self, logits: Floats) -> npt.NDArray[np.float64]:
        """Log-odds that a refusal's token comes first."""
        values = np.asarray(logits, dtype=np.float64)
        refusing = np.zeros(values.shape[-1], dtype=bool)
        refusing[list(self.tokens)] = True
        refused = logsumexp(values[..., refusing], axis=-1)
        answered = logsumexp(values[..., ~refusing], axis=-1)
        return np.asarray(np.clip(refused - answered, -_CERTAIN, _CERTAIN))

    def probability(self, logits: Floats) -> npt.NDArray[np.float64]:
        """Probability of a refusal, once the answer is judged."""
        return np.asarray(expit(self.intercept + self.slope * self.log_odds(logits)))


def learn_refusal_odds(logits: Floats, refused: Mask) -> RefusalOdds | None:
    """Fit the tokens that refusals begin with, and how their log-odds go with refusals.

    Parameters
    ----------
    logits
        float32, ``(answers, vocabulary)``: of the first token of each answer.
    refused
        bool, ``(answers,)``: whether the judge called it a refusal of any kind.

    Returns
    -------
    The odds, or None if first tokens do not tell refusals from other answers.
    """
    first = logits.argmax(axis=1)
    tokens = [int(token) for token in np.unique(first) if refused[first == token].mean() > 0.5]
    unfitted = RefusalOdds(tuple(tokens), 1.0, 0.0)
    both = tokens and set(tokens) != set(first.tolist())
    if not both or roc_auc_score(refused, unfitted.log_odds(logits)) < TELLS:
        return None
    fitted = LogisticRegression().fit(unfitted.log_odds(logits)[:, None], refused)
    return RefusalOdds(tuple(tokens), float(fitted.coef_[0, 0]), float(fitted.intercept_[0]))


def by_first_token(model: OpenModel, odds: RefusalOdds) -> Estimate:
    """Estimate from the logits of the first token."""

    def estimate(asked: Sequence[Conversation]) -> npt.NDArray[np.float64]:
        return odds.probability(np.stack([model.logits(one).numpy() for one in asked]))

    return estimate


def by_beginning(
    model: OpenModel,
    judge: Judge,
    asked: Sequence[Conversation],
    refused: Mask,
    whole: int,
) -> Estimate:
    """Estimate from the judge's scores of how answers begin, from as few tokens as suffice.

    The estimate raises ModelError where the model gives no answer; what cannot be judged counts as
    no refusal.

    Parameters
    ----------
    asked
        Conversations that the model has answered, some of which are asked again.
    refused
        bool, ``(asked,)``: whether the judge called the whole answer a refusal of any kind.
    whole
        Tokens of a whole answer, at most: no more are judged here.

    Raises
    ------
    SteeringError
        If no beginning tells refusals from other answers.
    """
    kinds = [np.flatnonzero(refused), np.flatnonzero(~refused)]
    shown = np.concatenate([places[evenly_spaced(len(places), _SHOWN)] for places in kinds])
    for tokens in sorted({min(tokens, whole) for tokens in BEGINNINGS}):
        estimate = functools.partial(_judged_beginnings, model, judge, tokens)
        if roc_auc_score(refused[shown], estimate([asked[place] for place in shown])) >= TELLS:
            return estimate
    raise SteeringError(
        f"{model.card.id}: the first {tokens} tokens of its answers do not tell refusals from "
        "other answers"
    )


def evenly_spaced(number: int, most: int) -> npt.NDArray[np.intp]:
    """At most ``most`` of the places 0 to ``number - 1``, the first and the last among them."""
    return np.linspace(0, number - 1, min(most, number)).round().astype(np.intp)


def _judged_beginnings(
    model: OpenModel, judge: Judge, tokens: int, asked: Sequence[Conversation]
) -> npt.NDArray[np.float64]:
    answers = model.answer(asked, Generation(max_new_tokens=tokens))
    texts = [one.text for one in answers if not isinstance(one, Failure)]
    if len(texts) < len(asked):
        raise ModelError(f"{model.card.id}: some requests brought no answer")
    judged = judge.judge_all([(text, None) for text in texts])
    return np.array([one.p_refusal or 0.0 for one in judged])
