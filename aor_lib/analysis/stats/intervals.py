"""Refusal rates and 95 % intervals: of independent trials, and of trials that come in clusters."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm, t
from statsmodels.stats.proportion import proportion_confint

from aor_lib.analysis.outcomes import COUNTS, check, counts, refusals_by_utterance

CONFIDENCE = 0.95
RESAMPLES = 10_000

_AT_ONCE = 500  # resamples, so that those of thousands of clusters fit into memory

Floats = npt.NDArray[np.float64]


def wilson(successes: float, trials: int) -> tuple[float, float]:
    """Wilson's score interval of a proportion of independent trials; NaN without a trial."""
    if trials == 0:
        return np.nan, np.nan
    low, high = proportion_confint(successes, trials, alpha=1 - CONFIDENCE, method="wilson")
    # Rounding leaves the limits of none and of all a hair away from 0 and 1.
    return float(low) if successes > 0 else 0.0, float(high) if successes < trials else 1.0


def cluster_bootstrap(totals: Floats, sizes: Floats, seed: int = 0) -> tuple[float, float]:
    """Bootstrap interval of ``sum(totals) / sum(sizes)`` over clusters.

    Clusters are resampled whole, 10,000 times. The limits are bias-corrected and accelerated (BCa),
    with Student's t tails, of fewer degrees of freedom where few clusters make the variance.
    Clusters that are all alike give an interval of no width.

    Parameters
    ----------
    totals, sizes
        float64, ``(clusters,)``: the sum of a cluster's values and how many it has.

    References
    ----------
    A. C. Davison & D. V. Hinkley, "Bootstrap methods and their application", 1997, 3.8 (clusters).
    B. Efron, JASA 82(397):171-185, 1987 (BCa).
    T. C. Hesterberg, The American Statistician 69(4):371-386, 2015 (tails).
    R. Valliant & K. F. Rust, J. Official Statistics 26(4):585-602, 2010 (degrees of freedom).
    """
    n = len(totals)
    if n == 0:
        return np.nan, np.nan
    estimate = float(totals.sum() / sizes.sum())
    if np.ptp(totals / sizes) == 0:
        return estimate, estimate
    left_out = (totals.sum() - totals) / (sizes.sum() - sizes)
    rng = np.random.default_rng(seed)
    resampled = []
    for _ in range(RESAMPLES // _AT_ONCE):
        drawn = rng.integers(n, size=(_AT_ONCE, n))
        resampled.append(totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    estimates = np.concatenate(resampled)
    low, high = np.quantile(estimates, _tails(estimates, estimate, left_out))
    return float(low), float(high)


def rate_interval(refused: Floats, sizes: Floats) -> tuple[float, float]:
    """Interval of a share of answers.

    Wilson's where every utterance was judged once, else a bootstrap over utterances; where all
    rates are alike, Wilson's with each utterance once. ``sizes`` are the judged answers of each
    utterance, float64, ``(utterances,)``.
    """
    rates = refused / sizes
    if (sizes == 1).all() or np.ptp(rates) == 0:
        return wilson(float(rates.sum()), len(sizes))
    return cluster_bootstrap(refused, sizes)


def rates(results: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rate of any refusal (partial or full) among judged answers, for each group.

    One row per group: the ``by`` columns, :func:`aor_lib.analysis.outcomes.counts`, ``utterances``
    (judged), ``rate``, ``low``, ``high`` (95 %: see :func:`rate_interval`), ``lowest`` and
    ``highest`` (rate if all trials without a verdict had been compliance, or refusals). NaN where
    nothing was judged.
    """
    check(results, by)
    rows, measures = [], ["utterances", "rate", "low", "high", "lowest", "highest"]
    for group, trials in results.groupby(by, sort=True, observed=True):
        clusters = refusals_by_utterance(trials)
        refused, judged = clusters["refused"].to_numpy(float), clusters["judged"].to_numpy(float)
        low, high = rate_interval(refused, judged)
        rate = refused.sum() / judged.sum() if len(clusters) else np.nan
        bounds = refused.sum() / len(trials), 1 - (judged - refused).sum() / len(trials)
        values = (*group, *counts(trials).values(), len(clusters), rate, low, high, *bounds)
        rows.append(values)
    return pd.DataFrame(rows, columns=[*by, *COUNTS, *measures])


def effective_answers(refused: Floats, sizes: Floats) -> float:
    """Number of independent answers that tell as much of a rate as these, which are clustered.

    At most the number of answers; each cluster counts once where all or none are refusals.
    ``refused`` and ``sizes`` are float64, ``(clusters,)``: refusals, and judged answers. W. G.
    Cochran, "Sampling Techniques", 3rd ed., 1977, section 9A.2; L. Kish, "Survey Sampling", 1965.
    """
    clusters, answers = len(sizes), float(sizes.sum())
    if clusters == answers or clusters == 0:
        return answers
    rate = refused.sum() / answers
    if clusters == 1 or rate in (0.0, 1.0):
        return float(clusters)
    spread = ((refused - rate * sizes) ** 2).sum() * clusters / (clusters - 1)
    variance = spread / answers**2
    return float(min(answers, rate * (1 - rate) / variance)) if variance > 0 else answers


def _tails(estimates: Floats, estimate: float, left_out: Floats) -> Floats:
    n = len(left_out)
    ties = np.isclose(estimates, estimate, rtol=0, atol=1e-12)
    below = np.mean((estimates < estimate) & ~ties) + ties.mean() / 2
    bias = norm.ppf(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    pull = left_out.mean() - left_out
    square, cube, fourth = ((pull**power).sum() for power in (2, 3, 4))
    acceleration = cube / (6 * square**1.5)
    degrees = min(n - 1, 2 * n / (n * fourth / square**2 - (n - 3) / (n - 1)))
    reach = np.sqrt(n / (n - 1)) * t.ppf((1 + CONFIDENCE) / 2, degrees)
    z = bias + np.array([-reach, reach])
    return np.asarray(norm.cdf(bias + z / (1 - acceleration * z)))
