"""Differences in refusal rate, paired by utterance, between levels of a factor or between models.

Each utterance has equal weight, also in :func:`groups_differ`. :func:`power` computes the
probability of a significant difference.
"""

from collections.abc import Callable, Hashable
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom, binomtest, kruskal, multivariate_normal, norm, permutation_test

from aor_lib.analysis.outcomes import COUNTS, check, outcomes, rates_by_utterance
from aor_lib.analysis.stats.intervals import CONFIDENCE, Floats

SIGNIFICANCE = 0.05
"""Significance level within a family of tests."""
DIFFERENCES = ("utterances", "difference", "low", "high", "lowest", "highest")
"""Columns of a paired difference, without its test."""
_FLIPS = 9_999
"""Number of random sign flips; if 13 utterances or fewer changed, all flips are enumerated."""


def paired_differences(
    results: pd.DataFrame, factor: str, baseline: str, by: list[str]
) -> pd.DataFrame:
    """Difference in refusal rate between each level of a factor and its baseline, by utterance.

    The difference is the mean, over the utterances judged at both levels, of the difference
    between the utterance's two rates. The p value is that of a sign-flip test of this mean (P.
    Good, "Permutation, parametric and bootstrap tests of hypotheses", 3rd ed., 2005, section 3.2),
    which is McNemar's exact test if each level has one answer. :func:`adjusted` states the family.

    One row per group and level: the ``by`` columns, ``level``, ``baseline``,
    :func:`aor_lib.analysis.outcomes.counts` over the trials at either, ``utterances`` (judged at
    both), ``difference``, ``low``, ``high`` (95 %, see :func:`difference_interval`), ``p_value``,
    ``lowest`` and ``highest`` (difference if all trials without a verdict had been compliance at
    one level and refusals at the other), ``p_missing`` (the larger p value of these two; 1 if their
    signs differ), ``p_holm``, ``withheld`` (see :func:`adjusted`). NaN if no utterance was judged
    at both levels; groups without a trial at the baseline have no row.
    """
    check(results, [*by, factor])
    cells = Cells(results, [*by, factor])
    rows = [
        dict(zip(by, group, strict=True))
        | {"level": level, "baseline": baseline}
        | cells.compare((*group, level), (*group, baseline))
        for *group, level in cells.counted.index
        if level != baseline and (*group, baseline) in cells.judged
    ]
    measures = [*DIFFERENCES[1:], "p_value", "p_missing"]
    names = [*by, "level", "baseline", *COUNTS, "utterances", *measures]
    return adjusted(pd.DataFrame(rows, columns=names).astype(dict.fromkeys(measures, float)))


def adjusted(tests: pd.DataFrame) -> pd.DataFrame:
    """Add ``p_holm``: the ``p_value``, adjusted by Holm's method within each model.

    A row has neither p value and is not in the family if its ``utterances`` are too few for
    significance even if all of them changed in the same direction. A significant row is
    ``withheld`` if its adjusted ``p_missing`` is not significant and therefore becomes ``p_holm``.
    """
    tests = tests.assign(p_holm=np.nan, withheld=False)
    for _, rows in tests.groupby("model", observed=True):
        utterances = rows["utterances"].astype(float).fillna(0)
        # If all n utterances change in the same direction, p is 2 / 2^n. Holm multiplies p by the
        # number of tests that could reject: those with at least as many utterances.
        could_reject = utterances.rank(ascending=False, method="max")
        can_tell = 2.0 ** (1 - utterances) * could_reject <= SIGNIFICANCE
        tests.loc[rows.index[~can_tell], "p_value"] = np.nan
        if can_tell.any():
            tested = rows[can_tell]
            as_judged, missing = _holm(tested["p_value"]), _holm(tested["p_missing"])
            flips = (as_judged < SIGNIFICANCE) & (missing >= SIGNIFICANCE)
            tests.loc[tested.index, "p_holm"] = np.where(flips, missing, as_judged)
            tests.loc[tested.index, "withheld"] = flips
    return tests


def difference_interval(differences: Floats) -> tuple[float, float]:
    """95 % interval of the mean of paired differences: float64, ``(utterances,)``, from -1 to 1.

    Tango's score interval: all differences that the score test does not reject. Utterances with
    several answers have fractional differences, for which a design effect is estimated, with half
    an observation at +1 and half at -1 added, since all differences may be equal.

    References
    ----------
    T. Tango, Statistics in Medicine 17(8):891-908, 1998.
    M. W. Fagerland et al., Statistics in Medicine 33(16):2850-2875, 2014 (a comparison).
    J. N. K. Rao & A. J. Scott, Biometrics 48(2):577-585, 1992 (the design effect).
    A. Agresti & Y. Min, Statistics in Medicine 24(5):729-740, 2005 (the halves).
    """
    n = len(differences)
    mean = differences.sum() / (n + 1)
    size = (np.abs(differences).sum() + 1) / (n + 1)
    square = ((differences**2).sum() + 1) / (n + 1)
    design_effect = float((square - mean**2) / (size - mean**2))  # 1 if all differences are whole
    less, more = -float(differences.clip(max=0).mean()), float(differences.clip(min=0).mean())
    quantile = float(norm.ppf((1 + CONFIDENCE) / 2))

    def not_rejected(truth: float) -> bool:
        slope = less + more - (2 - more + less) * truth
        twice_less = (slope + sqrt(max(0.0, slope**2 + 8 * less * truth * (1 - truth)))) / 2
        variance = design_effect * (twice_less + truth - truth**2) / n
        return (more - less - truth) ** 2 <= quantile**2 * variance

    return _last(not_rejected, more - less, -1.0), _last(not_rejected, more - less, 1.0)


class Cells:
    """Refusal rate of each utterance in each cell of the keys, and differences between cells.

    ``judged`` holds the rates as judged; ``counted`` holds the counts of trials.
    """

    def __init__(self, results: pd.DataFrame, keys: list[str]) -> None:
        cells = [results[name] for name in keys]
        self.counted = outcomes(results).groupby(cells, observed=True).sum()
        self.judged, self._lowest, self._highest = (
            dict(rates_by_utterance(results, keys, missing).reindex(columns=self.counted.index))
            for missing in (None, "full_compliance", "full_refusal")
        )

    def compare(self, level: Hashable, baseline: Hashable) -> dict[str, float]:
        """Compare two cells: counts and measures of :func:`paired_differences`, unadjusted."""
        counted: dict[Any, float] = self.counted.loc[[level, baseline]].sum().to_dict()
        differences, lowest, highest = (
            (first - second).dropna().to_numpy(float)
            for first, second in (
                (self.judged[level], self.judged[baseline]),
                (self._lowest[level], self._highest[baseline]),
                (self._highest[level], self._lowest[baseline]),
            )
        )
        if len(differences) == 0:
            return counted | {"utterances": 0}
        low, high = difference_interval(differences)
        p_value = p_missing = _sign_flip(differences)
        if counted["judged"] < counted["trials"]:
            flips = lowest.mean() * highest.mean() <= 0
            p_missing = 1.0 if flips else max(_sign_flip(lowest), _sign_flip(highest))
        values = (len(differences), differences.mean(), low, high, lowest.mean(), highest.mean())
        measures = dict(zip(DIFFERENCES, values, strict=True))
        return counted | measures | {"p_value": p_value, "p_missing": p_missing}


def model_rates(results: pd.DataFrame) -> pd.DataFrame:
    """Difference in refusal rate between each pair of models, by utterance, without a test.

    The judge's errors differ between models, so two models with equal refusal rates would often
    differ significantly (``benchmarks/verdicts.csv``). One row per intent and pair:
    ``intent``, ``model``, ``against``, then the columns of
    :func:`paired_differences` from the counts to ``highest``.
    """
    check(results, ["model", "intent"])
    cells = Cells(results, ["intent", "model"])
    rows = [
        {"intent": intent, "model": model, "against": against}
        | cells.compare((intent, model), (intent, against))
        for (intent, model), (other, against) in combinations(cells.counted.index, 2)
        if intent == other
    ]
    return pd.DataFrame(rows, columns=["intent", "model", "against", *COUNTS, *DIFFERENCES])


def groups_differ(results: pd.DataFrame, factor: str) -> "pd.Series[float]":
    """P value for each model, testing whether it refuses all groups of utterances equally often.

    The models are one family: p values are adjusted by Holm's method.

    The Kruskal-Wallis test compares the utterances' rates between groups (values of ``factor``,
    one per utterance). Groups of one utterance are left out; NaN if fewer than two groups are
    left, and 1 if all rates are equal. ValueError if an utterance has several values.
    """
    check(results, ["model", factor])
    if results.groupby("utterance_id")[factor].nunique().gt(1).any():
        raise ValueError(f"{factor}: an utterance has several values; compare them with 'paired'")
    group_of = results.groupby("utterance_id")[factor].first()
    p_values = pd.Series(np.nan, sorted(results["model"].unique()), name="p_holm")
    for model, rates in rates_by_utterance(results, ["model"]).items():
        samples = [group for _, group in rates.dropna().groupby(group_of) if len(group) > 1]
        if len(samples) > 1:
            alike = pd.concat(samples).nunique() == 1
            p_values[str(model)] = 1.0 if alike else float(kruskal(*samples).pvalue)
    if (known := p_values.notna()).any():
        p_values[known] = _holm(p_values[known])
    return p_values.rename_axis("model")


def _holm(p_values: "pd.Series[float]") -> Floats:
    # statsmodels' version collects garbage at each call, which takes longer than the test itself.
    order = p_values.to_numpy(float).argsort()
    stepped = p_values.to_numpy(float)[order] * np.arange(len(order), 0, -1)
    return np.maximum.accumulate(stepped).clip(max=1.0)[order.argsort()]


def _sign_flip(differences: Floats) -> float:
    changed = differences[differences != 0]
    if len(changed) == 0:
        return 1.0
    if np.ptp(np.abs(changed)) == 0:  # only the signs matter: this is McNemar's exact test
        return float(binomtest(int((changed > 0).sum()), len(changed)).pvalue)
    test = permutation_test(
        (changed,), np.mean, permutation_type="samples", n_resamples=_FLIPS, rng=0, vectorized=True
    )
    return float(test.pvalue)


def _last(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Find, by bisection, the value closest to ``outside`` at which a condition holds."""
    for _ in range(40):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def power(
    utterances: int, rate: float, difference: float, correlation: float, *, tests: int = 1
) -> float:
    """Power of the exact McNemar test for a paired difference in refusal rate.

    Each utterance is judged once at the baseline and once at a level, and has a latent normal
    propensity to be refused, correlated between the two.

    Parameters
    ----------
    utterances
        Number of utterances judged at both levels.
    rate, difference
        Refusal rate at the baseline, and the rate at the level minus it, as fractions.
    correlation
        Tetrachoric correlation of the two answers to an utterance, at least 0 and below 1.
    tests
        Size of the family; the test is at the level of Holm's first step, 5 % / ``tests``.

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
        raise ValueError(f"rate {rate:g}, difference {difference:g}: both rates must be in [0, 1]")
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation {correlation:g}: must be at least 0 and below 1")
    # Infinite thresholds cannot be computed; 9 standard deviations are as good as infinite.
    thresholds = np.clip(norm.ppf([rate, other]), -9, 9)
    both = multivariate_normal.cdf(thresholds, cov=[[1, correlation], [correlation, 1]])
    gained, lost = max(0.0, other - both), max(0.0, rate - both)
    changed, fewer = np.indices((utterances + 1, utterances // 2 + 1))
    rejects = 2 * binom.cdf(fewer, changed, 0.5) <= (1 - CONFIDENCE) / tests
    shares = np.array([gained, lost]) / max(gained + lost, 1e-12)
    likely = sum(binom.pmf(fewer, changed, share) for share in shares)
    return float((binom.pmf(changed, utterances, gained + lost) * likely)[rejects].sum())
