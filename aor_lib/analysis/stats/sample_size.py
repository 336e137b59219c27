"""Sample size: how many utterances it takes to see a paired difference."""

import numpy as np
from scipy.stats import binom, multivariate_normal, norm

from aor_lib.analysis.stats.intervals import CONFIDENCE


def power(
    utterances: int, rate: float, difference: float, correlation: float, *, tests: int = 1
) -> float:
    """Power of the exact McNemar test to find a paired difference significant.

    Each utterance is judged once at the baseline and once at a level, and has a latent normal
    propensity to be refused, correlated between the two.

    Parameters
    ----------
    utterances
        Utterances judged at both.
    rate, difference
        Refusal rate at the baseline, and that at the level less it; both as fractions.
    correlation
        Tetrachoric correlation of the two answers to an utterance, at least 0 and below 1.
    tests
        Size of the family; each test is held to Holm's first step, 5 % / ``tests``.

    Raises
    ------
    ValueError
        If a rate or the correlation lies outside its range.

    Examples
    --------
    >>> round(power(60, rate=0.5, difference=-0.3, correlation=0.7), 1)
    1.0
    """
    other = round(rate + difference, 12)
    if not (0 <= rate <= 1 and 0 <= other <= 1):
        raise ValueError(f"rate {rate:g}, difference {difference:g}: no rate lies outside 0 to 1")
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation {correlation:g}: must be at least 0 and below 1")
    # A propensity beyond 9 standard deviations is as good as infinite, which is not computed.
    thresholds = np.clip(norm.ppf([rate, other]), -9, 9)
    both = multivariate_normal.cdf(thresholds, cov=[[1, correlation], [correlation, 1]])
    gained, lost = max(0.0, other - both), max(0.0, rate - both)
    changed, fewer = np.indices((utterances + 1, utterances // 2 + 1))
    rejects = 2 * binom.cdf(fewer, changed, 0.5) <= (1 - CONFIDENCE) / tests
    shares = np.array([gained, lost]) / max(gained + lost, 1e-12)
    likely = sum(binom.pmf(fewer, changed, share) for share in shares)
    return float((binom.pmf(changed, utterances, gained + lost) * likely)[rejects].sum())
