"""Agreement among annotators, and their majority labels: pandas in, pandas out.

Estimates that do not exist are NaN: a single annotator agrees with nobody.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from aor_lib.analysis.stats import CONFIDENCE, RESAMPLES, wilson
from aor_lib.analysis.stats.intervals import Floats

TIE = "tie"
"""Majority label of an item on which two labels are equally frequent."""


def majority(annotations: pd.DataFrame) -> pd.Series[str]:
    """Most frequent label of each item, by its sha256; :data:`TIE` where two are.

    ``annotations`` is :func:`aor_lib.report.annotation.store.load_annotations`.
    """
    modes = {sha256: some.mode() for sha256, some in annotations.groupby("item_sha256")["label"]}
    labels = {sha256: mode[0] if len(mode) == 1 else TIE for sha256, mode in modes.items()}
    return pd.Series(labels, dtype=object)


def agreement(annotations: pd.DataFrame, by: pd.Series[bool], seed: int) -> pd.DataFrame:
    """Krippendorff's alpha of all annotators, one row per kind of item.

    ``by`` holds the kind of each item, by its sha256; items that are not in it do not count. The
    columns are ``kind``, ``annotators``, ``labels``, ``items`` (with labels of two annotators or
    more, the only ones that count), ``alpha``, ``low``, ``high`` (95 %).
    """
    rows = []
    for kind, group in annotations.groupby(annotations["item_sha256"].map(by)):
        table = group.pivot(index="item_sha256", columns="annotator", values="label")
        items = int((table.notna().sum(axis=1) >= 2).sum())
        alpha = krippendorff_alpha(table)
        rows.append((kind, table.shape[1], len(group), items, alpha, *alpha_interval(table, seed)))
    columns = ["kind", "annotators", "labels", "items", "alpha", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def share(hits: pd.Series[bool]) -> tuple[int, int, float, float, float]:
    """Count all and those that hit, and estimate the share with its 95 % interval (Wilson)."""
    n, count = len(hits), int(hits.sum())
    return n, count, count / n, *wilson(count, n)


def krippendorff_alpha(ratings: pd.DataFrame) -> float:
    """Krippendorff's alpha of nominal ratings: 1 is perfect agreement, 0 is that of chance.

    ``ratings`` has one row per unit and one column per observer; units with fewer than two ratings
    do not count. NaN where no unit has two, or all ratings are the same.

    References
    ----------
    K. Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), section C.

    Examples
    --------
    >>> import pandas as pd
    >>> ratings = pd.DataFrame({"ann": ["x", "y", "x", "y"], "bob": ["x", "y", "y", None]})
    >>> round(krippendorff_alpha(ratings), 2)
    0.44
    """
    counts = _pairable_counts(ratings)
    return float(_alphas(counts, np.ones((1, len(counts))))[0])


def alpha_interval(ratings: pd.DataFrame, seed: int) -> tuple[float, float]:
    """95 % percentile bootstrap interval of :func:`krippendorff_alpha` over units.

    Resamples in which all ratings are the same have no alpha and are left out. The interval is NaN
    where alpha is, and where all units are in perfect agreement: nothing varies then that could be
    resampled, which does not make the estimate certain.

    References
    ----------
    A. Zapf et al., "Measuring inter-rater reliability for nominal data", BMC Medical Research
    Methodology 16:93 (2016).
    """
    counts = _pairable_counts(ratings)
    n = len(counts)
    alpha = _alphas(counts, np.ones((1, n)))[0]
    if np.isnan(alpha) or alpha == 1.0:
        return np.nan, np.nan
    rng = np.random.default_rng(seed)
    # How often each unit is drawn, for every resample at once: (resamples, units).
    draws = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(float)
    low, high = np.nanquantile(_alphas(counts, draws), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _pairable_counts(ratings: pd.DataFrame) -> Floats:
    """Ratings per category, ``(units, categories)``, of units with two ratings or more."""
    long = ratings.reset_index(drop=True).melt(ignore_index=False)["value"].dropna()
    counts = pd.crosstab(long.index, long).to_numpy(dtype=float)
    return np.asarray(counts[counts.sum(axis=1) >= 2])


def _alphas(counts: Floats, draws: Floats) -> Floats:
    """Alpha of each resample: ``draws`` is how often it holds each unit, (resamples, units)."""
    of_unit = counts.sum(axis=1)
    disagreeing = (of_unit**2 - (counts**2).sum(axis=1)) / (of_unit - 1)
    n, of_category = draws @ of_unit, draws @ counts
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = draws @ disagreeing / n
        expected = (n**2 - (of_category**2).sum(axis=1)) / (n * (n - 1))
        return np.where(expected > 0, 1 - observed / expected, np.nan)
