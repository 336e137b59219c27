"""Refusal odds: how likely a model is to refuse, from the first token of its answer alone.

To have an answer written and judged takes a hundred times as long as its first token, which mostly
settles what it will be (the refusal metric of Arditi et al., NeurIPS 2024, section 2.3: log-odds of
the tokens that refusals begin with). Which tokens these are, and what log-odds mean for the judged
answer, is learnt from answers of the same model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from aor_lib.steering import SteeringError
from aor_lib.steering.activations import Floats
from aor_lib.steering.directions import Mask

TELLS = 0.9
"""How often a refusal must have the higher log-odds than another answer (area under the curve)."""
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


def learn_refusal_odds(logits: Floats, refused: Mask) -> RefusalOdds:
    """Fit the tokens that refusals begin with, and how their log-odds go with refusals.

    Parameters
    ----------
    logits
        float32, ``(answers, vocabulary)``: of the first token of each answer.
    refused
        bool, ``(answers,)``: whether the judge called it a refusal of any kind.

    Raises
    ------
    SteeringError
        If first tokens do not tell refusals from other answers.
    """
    first = logits.argmax(axis=1)
    tokens = [int(token) for token in np.unique(first) if refused[first == token].mean() > 0.5]
    unfitted = RefusalOdds(tuple(tokens), 1.0, 0.0)
    both = tokens and set(tokens) != set(first.tolist())
    if not both or roc_auc_score(refused, unfitted.log_odds(logits)) < TELLS:
        raise SteeringError(
            f"{int(refused.sum())} of {len(refused)} answers are refusals, and their first words "
            "do not tell them from the others"
        )
    fitted = LogisticRegression().fit(unfitted.log_odds(logits)[:, None], refused)
    return RefusalOdds(tuple(tokens), float(fitted.coef_[0, 0]), float(fitted.intercept_[0]))
