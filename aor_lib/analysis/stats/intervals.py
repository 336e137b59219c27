"""Refusal rates and their 95 % intervals, for independent trials and for clustered trials."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm, t
from statsmodels.stats.proportion import proportion_confint

from aor_lib.analysis.outcomes import COUNTS, check, counts, refusals_by_utterance

CONFIDENCE = 0.95
DRAWS = 10_000

Floats = npt.NDArray[np.float64]


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """Wilson's score interval of a proportion of independent trials; NaN if there are none."""
    if trials == 0:
        return np.nan, np.nan
    low, high = proportion_confint(successes, trials, alpha=1 - CONFIDENCE, method="wilson")
    # With no successes, or only successes, rounding would leave a limit slightly off 0 or 1.
    return float(low) if successes > 0 else 0.0, float(high) if successes < trials else 1.0


def rate_interval(refused: Floats, sizes: Floats) -> tuple[float, float]:
    """95 % interval of a refusal rate: Wilson's, for the effective number of answers.

    The design effect is estimated with one all-refusal and one all-compliance utterance added,
    since all utterances may have equal rates; the effective number is reduced for the degrees of
    freedom (E. L. Korn & B. I. Graubard, Survey Methodology 24(2):193-201, 1998). ``refused`` and
    ``sizes`` are each utterance's refusals and judged answers: float64, ``(utterances,)``.
    """
    n = len(sizes)
    if (sizes == 1).all():
        return wilson(refused.sum(), n)
    added = [sizes.mean(), 0.0], [sizes.mean()] * 2
    answers = effective_answers(np.append(refused, added[0]), np.append(sizes, added[1]))
    tail = (1 + CONFIDENCE) / 2
    answers *= n / (n + 2) * (norm.ppf(tail) / t.ppf(tail, max(n - 1, 1))) ** 2
    return wilson(refused.sum() / sizes.sum() * answers, answers)


def rates(results: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rate of any refusal (partial or full) among the judged answers of each group.

    One row per group: the ``by`` columns, :func:`aor_lib.analysis.outcomes.counts`, ``utterances``
    (judged), ``rate``, ``low``, ``high`` (95 %: see :func:`rate_interval`), ``lowest`` and
    ``highest`` (rate if all trials without a verdict had been compliance, or refusals). NaN if no
    answer was judged.
    """
    check(results, by)
    rows, measures = [], ["utterances", "rate", "low", "high", "lowest", "highest"]
    for group, trials in results.groupby(by, sort=True, observed=True):
        clusters = refusals_by_utterance(trials)
        refused, judged = clusters["refused"].to_numpy(float), clusters["judged"].to_numpy(float)
        low, high = rate_interval(refused, judged)
        rate = refused.sum() / judged.sum() if len(clusters) else np.nan
        bounds = refused.sum() / len(trials), 1 - (judged - refused).sum() / len(trials)
        rows.append((*group, *counts(trials).values(), len(clusters), rate, low, high, *bounds))
    return pd.DataFrame(rows, columns=[*by, *COUNTS, *measures])


def effective_answers(refused: Floats, sizes: Floats) -> float:
    """Number of independent answers that estimate a rate as precisely as the clustered answers.

    At most the number of answers; the number of clusters if all answers are refusals or none is.
    ``refused`` and ``sizes`` are refusals and judged answers: float64, ``(clusters,)``. W. G.
    Cochran, "Sampling Techniques", 3rd ed., 1977, section 9A.2; L. Kish, "Survey Sampling", 1965.
    """
    clusters, answers = len(sizes), float(sizes.sum())
    if clusters == answers or clusters == 0:
        return answers
    rate = refused.sum() / answers
    if clusters == 1 or rate in (0.0, 1.0):
        return float(clusters)
    variance = ((refused - rate * sizes) ** 2).sum() * clusters / (clusters - 1) / answers**2
    return float(min(answers, rate * (1 - rate) / variance)) if variance > 0 else answers
