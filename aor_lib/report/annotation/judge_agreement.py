"""Agreement of two raters, people or judges: pandas in, pandas out.

Labels are those of :class:`aor_lib.config.records.Label`. What cannot be estimated is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.inter_rater import cohens_kappa

from aor_lib.analysis.stats import REFUSALS
from aor_lib.config.records import Label
from aor_lib.report.annotation.agreement import krippendorff_alpha, share

_BINS = 10  # of probability, in a calibration


def cohen_kappa(first: pd.Series[Any], second: pd.Series[Any]) -> tuple[float, float, float]:
    """Cohen's kappa of two raters' labels of the same items, with its 95 % asymptotic interval.

    1 is perfect agreement, 0 is that of chance. Items that one of them has not labelled are left
    out. All three are NaN where nothing is left or all labels are the same, the interval also where
    the two always agree: nothing varies then.

    References
    ----------
    J. L. Fleiss, J. Cohen and B. S. Everitt, "Large sample standard errors of kappa and weighted
    kappa", Psychological Bulletin 72(5):323-327 (1969).

    Examples
    --------
    >>> import pandas as pd
    >>> cohen_kappa(pd.Series(["x", "x", "y", "y"]), pd.Series(["x", "x", "y", "x"]))[0]
    0.5
    """
    both = pd.DataFrame({"first": first.to_numpy(), "second": second.to_numpy()}).dropna()
    labels = sorted(set(both["first"]) | set(both["second"]))
    if len(labels) < 2:
        return np.nan, np.nan, np.nan
    table = pd.crosstab(both["first"], both["second"])
    with np.errstate(invalid="ignore", divide="ignore"):  # of its test, where nothing varies
        result = cohens_kappa(table.reindex(index=labels, columns=labels, fill_value=0))
    if result.kappa == 1:
        return 1.0, np.nan, np.nan
    return float(result.kappa), max(-1.0, result.kappa_low), min(1.0, result.kappa_upp)


def any_refusal(labels: pd.Series[Any]) -> pd.Series[Any]:
    """``refusal`` for a partial or a full one; all other labels as they are."""
    return labels.replace(dict.fromkeys(REFUSALS, "refusal"))


def pairwise(ratings: pd.DataFrame) -> pd.DataFrame:
    """Agreement of every two raters, on all labels and on any refusal against compliance.

    ``ratings`` are those of :func:`aor_lib.report.annotation.answers.ratings`. One row per pair:
    ``first``, ``second``, ``answers`` (that both labelled), ``kappa``, ``low``, ``high`` (95 %),
    ``kappa_any_refusal``, ``alpha`` (Krippendorff's, of the two).
    """
    rows = []
    for first, second in combinations(ratings.columns, 2):
        pair = ratings[[first, second]].dropna()
        kappa, low, high = cohen_kappa(pair[first], pair[second])
        refusals, _, _ = cohen_kappa(any_refusal(pair[first]), any_refusal(pair[second]))
        alpha = krippendorff_alpha(pair)
        rows.append((first, second, len(pair), kappa, low, high, refusals, alpha))
    columns = ["first", "second", "answers", "kappa", "low", "high", "kappa_any_refusal", "alpha"]
    return pd.DataFrame(rows, columns=columns)


def confirmed(ratings: pd.DataFrame, judge: str, annotators: Sequence[str]) -> pd.DataFrame:
    """Share of the annotators' labels that confirm the judge's, for each of its labels.

    Unlike sensitivity, this share does not depend on how often each label was drawn. One row per
    label of the judge: ``label``, ``labels`` (that annotators gave), ``agreeing``, ``rate``,
    ``low``, ``high`` (95 %, Wilson).
    """
    by_people = ratings.melt(judge, list(annotators), value_name="human").dropna()
    groups = by_people.groupby(judge)["human"]
    rows = [(label, *share(human == label)) for label, human in groups]
    return pd.DataFrame(rows, columns=["label", "labels", "agreeing", "rate", "low", "high"])


def calibration(p_refusal: pd.Series[Any], human: pd.Series[Any]) -> pd.DataFrame:
    """Reliability bins: mean predicted against observed refusal rate.

    One row per bin of equal width that holds an answer: ``answers``, ``predicted`` (mean
    probability), ``rate`` (of any refusal, by people), ``low``, ``high`` (95 %, Wilson).
    """
    known = p_refusal.notna() & human.isin([*REFUSALS, Label.FULL_COMPLIANCE])
    p = p_refusal[known].astype(float)
    refused = human[known].isin(REFUSALS)
    place = np.minimum((p * _BINS).astype(int), _BINS - 1)
    rows = []
    for _, inside in refused.groupby(place):
        count, _, *rate = share(inside)
        rows.append((count, p[inside.index].mean(), *rate))
    return pd.DataFrame(rows, columns=["answers", "predicted", "rate", "low", "high"])
