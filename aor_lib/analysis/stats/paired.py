"""Paired differences between two levels of a factor on the same utterances, and their tests."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binomtest, norm, permutation_test
from statsmodels.stats.multitest import multipletests

from aor_lib.analysis.outcomes import check, count_names, counts, refusals_by_utterance
from aor_lib.analysis.stats.intervals import CONFIDENCE, Floats

SIGNIFICANCE = 0.05
"""Level of a family of tests."""
_FLIPS = 9_999
"""Flips are drawn where more than 13 utterances changed, and are all possible ones otherwise."""


def paired_differences(
    results: pd.DataFrame, factor: str, baseline: str, by: list[str]
) -> pd.DataFrame:
    """Difference in refusal rate of each level of a factor from its baseline, by utterance.

    Only utterances judged under both levels count; the difference is the mean over utterances of
    the difference between the utterance's rates. The p value is that of a sign-flip test of the
    same mean: without an effect, either side of an utterance may have been the other. Where each
    level has one answer to an utterance, it is McNemar's exact test. See :func:`adjusted` for the
    families.

    Returns
    -------
    One row per group and level: the ``by`` columns, ``level``, ``baseline``, the counts of
    :func:`aor_lib.analysis.outcomes.counts` over the trials at either, ``utterances`` (judged
    at both), ``difference``, ``low``, ``high`` (95 %, see :func:`difference_interval`),
    ``p_value``, ``p_holm``. The measures are NaN where no utterance was judged at both. A group
    without a trial at the baseline has no row.

    References
    ----------
    P. Good, "Permutation, parametric and bootstrap tests of hypotheses", 3rd ed., 2005, section 3.2
    (sign flips).
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
                | compare(at_baseline, at_level)
            )
    measures = ["difference", "low", "high", "p_value"]
    names = [*by, "level", "baseline", *count_names(results), "utterances", *measures]
    return adjusted(pd.DataFrame(rows, columns=names).astype(dict.fromkeys(measures, float)))


def adjusted(tests: pd.DataFrame, family: str = "model") -> pd.DataFrame:
    """The frame with ``p_holm``: its ``p_value``, adjusted by Holm's method in each family.

    By default the rows of a ``model`` are a family: what is said of one does not hang on which
    others were asked. A row with so few ``utterances`` that it could not be told from zero, even if
    all of them changed alike, has neither p value and is not in the family.
    """
    tests = tests.assign(p_holm=np.nan)
    for _, rows in tests.groupby(family, observed=True):
        can_tell = _can_tell(rows["utterances"].to_numpy(float))
        tests.loc[rows.index[~can_tell], "p_value"] = np.nan
        if can_tell.any():
            p_values = multipletests(rows.loc[can_tell, "p_value"], method="holm")[1]
            tests.loc[rows.index[can_tell], "p_holm"] = p_values
    return tests


def _can_tell(utterances: Floats) -> npt.NDArray[np.bool_]:
    """Which tests could be told from zero beside those of as many utterances, ``(tests,)``.

    The smallest p value that n utterances can have is 2 / 2^n, if all of them change alike.
    """
    utterances = np.nan_to_num(utterances)
    beside = (utterances >= utterances[:, None]).sum(axis=1)
    return np.asarray(2.0 ** (1 - utterances) * beside <= SIGNIFICANCE)


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


def compare(at_baseline: pd.DataFrame, at_level: pd.DataFrame) -> dict[str, float]:
    """The measures of :func:`paired_differences` of trials at two levels."""
    before, after = (
        clusters["refused"] / clusters["judged"]
        for clusters in (refusals_by_utterance(at_baseline), refusals_by_utterance(at_level))
    )
    before, after = before.align(after, join="inner")
    if before.empty:
        return {"utterances": 0}
    difference: Floats = np.asarray(after - before, dtype=np.float64)
    low, high = difference_interval(difference)
    return {
        "utterances": len(before),
        "difference": float(difference.mean()),
        "low": low,
        "high": high,
        "p_value": _sign_flip(difference),
    }


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
