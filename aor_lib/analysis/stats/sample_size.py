"""Sample size: how many utterances it takes to see a paired difference, by simulation."""

import numpy as np
from scipy.stats import binom, multivariate_normal, norm

from aor_lib.analysis.stats.intervals import CONFIDENCE

STUDIES = 4_000
"""Studies simulated for each power; its standard error is at most 0.8 points."""


def power(
    utterances: int,
    rate: float,
    difference: float,
    correlation: float,
    *,
    tests: int = 1,
    seed: int = 0,
) -> float:
    """Power of the exact McNemar test to find a paired difference significant, by simulation.

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
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(utterances, [gained, lost, 1 - gained - lost], size=STUDIES)
    fewer, changed = drawn[:, :2].min(axis=1), drawn[:, :2].sum(axis=1)
    p_values = 2 * binom.cdf(fewer, changed, 0.5)
    return float(np.mean(p_values <= (1 - CONFIDENCE) / tests))
