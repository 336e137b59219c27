"""Paired differences between two levels of a factor on the same utterances, and their tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from aor_lib.analysis.outcomes import check, count_names, counts, refusals_by_utterance
from aor_lib.analysis.stats.intervals import CONFIDENCE, Floats


def paired_differences(
    results: pd.DataFrame, factor: str, baseline: str, by: list[str]
) -> pd.DataFrame:
    """Difference in refusal rate of each level of a factor from its baseline, by utterance.

    Only utterances judged under both levels count; the difference is the mean over utterances of
    the difference between the utterance's rates. The p value is that of the exact McNemar test on
    the utterances whose majority answers differ, adjusted by Holm's method over all rows returned.

    Returns
    -------
    One row per group and level: the ``by`` columns, ``level``, ``baseline``, the counts of
    :func:`aor_lib.analysis.outcomes.counts` over the trials at either, ``utterances`` (judged
    at both), ``difference``, ``low``, ``high`` (95 %, see :func:`difference_interval`),
    ``p_value``, ``p_holm``. The measures are NaN where no utterance was judged at both. A group
    without a trial at the baseline has no row.
    """
    check(results, [*by, factor])
    rows = []
    for group, trials in results.groupby(by, sort=True, observed=True):
        levels = dict(iter(trials.groupby(factor, sort=True, observed=True)))
        if baseline not in levels:
            continue
        at_baseline = levels.pop(baseline)
        for level, at_level in levels.items():
            rows.append(
                dict(zip(by, group, strict=True))
                | {"level": level, "baseline": baseline}
                | counts(pd.concat([at_baseline, at_level]))
                | _compare(at_baseline, at_level)
            )
    measures = ["utterances", "difference", "low", "high", "p_value"]
    names = [*by, "level", "baseline", *count_names(results), *measures]
    return holm(pd.DataFrame(rows, columns=names))


def holm(tests: pd.DataFrame) -> pd.DataFrame:
    """The frame with ``p_holm``: its ``p_value`` adjusted over all rows that have one."""
    p_values = tests["p_value"].astype(float).dropna()
    if len(p_values):
        p_values[:] = multipletests(p_values, method="holm")[1]
    return tests.assign(p_holm=p_values)


def difference_interval(differences: Floats) -> tuple[float, float]:
    """95 % interval of the mean of paired differences, each of an utterance of its own.

    The adjusted Wald interval: Wald's, once a pair is added that differs in each direction. Where
    few utterances differ it is wide rather than narrow, as resampling them would make it, and all
    may agree. It is used for differences of rates as well.

    Parameters
    ----------
    differences
        float64, ``(utterances,)``, from -1 to 1.

    References
    ----------
    D. G. Bonett & R. M. Price, "Adjusted Wald confidence interval for a difference of binomial
    proportions based on paired data", Journal of Educational and Behavioral Statistics
    37(4):479-488, 2012.
    """
    added = np.append(differences, [-1.0, 1.0])
    reach = norm.ppf((1 + CONFIDENCE) / 2) * added.std() / np.sqrt(len(added))
    return max(-1.0, float(added.mean() - reach)), min(1.0, float(added.mean() + reach))


def _compare(at_baseline: pd.DataFrame, at_level: pd.DataFrame) -> dict[str, float]:
    before, after = (
        clusters["refused"] / clusters["judged"]
        for clusters in (refusals_by_utterance(at_baseline), refusals_by_utterance(at_level))
    )
    before, after = before.align(after, join="inner")
    if before.empty:
        return {"utterances": 0}
    difference: Floats = np.asarray(after - before, dtype=np.float64)
    low, high = difference_interval(difference)
    refused_before, refused_after = before > 0.5, after > 0.5
    gained, lost = (refused_after & ~refused_before).sum(), (refused_before & ~refused_after).sum()
    return {
        "utterances": len(before),
        "difference": float(difference.mean()),
        "low": low,
        "high": high,
        "p_value": float(mcnemar([[0, gained], [lost, 0]], exact=True).pvalue),
    }
