"""Estimates of how likely requests are to be refused, for a model as it is at the moment.

To have answers written and judged for every candidate would take too long. The first token mostly
settles what an answer will be (:mod:`aor_lib.steering.refusal_odds`); for a model that begins
refusals and answers alike, the beginning of its answer is judged.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from aor_lib.config.records import Generation
from aor_lib.judge import Judge
from aor_lib.judge.judgement import judge_all
from aor_lib.models.base import Conversation, Failure, ModelError
from aor_lib.steering.activations import OpenModel
from aor_lib.steering.refusal_odds import RefusalOdds

BEGINNING = Generation(max_new_tokens=18)

Estimate = Callable[[Sequence[Conversation]], npt.NDArray[np.float64]]
"""Probability that each conversation is refused: float64, ``(conversations,)``."""


def by_first_token(model: OpenModel, odds: RefusalOdds) -> Estimate:
    """Estimate from the logits of the first token."""

    def estimate(asked: Sequence[Conversation]) -> npt.NDArray[np.float64]:
        return odds.probability(np.stack([model.logits(one).numpy() for one in asked]))

    return estimate


def by_beginning(model: OpenModel, judge: Judge) -> Estimate:
    """Estimate from the judge's scores of the first :data:`BEGINNING` tokens.

    It raises ModelError where the model gives no answer; what cannot be judged counts as no
    refusal.
    """

    def estimate(asked: Sequence[Conversation]) -> npt.NDArray[np.float64]:
        answers = model.answer(asked, BEGINNING)
        texts = [one.text for one in answers if not isinstance(one, Failure)]
        if len(texts) < len(asked):
            raise ModelError(f"{model.card.id}: some requests brought no answer under steering")
        judged = judge_all(judge, [(text, None) for text in texts])
        return np.array([one.score or 0.0 for one in judged])

    return estimate
