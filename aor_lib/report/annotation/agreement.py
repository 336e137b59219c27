"""How far listeners agree, and what they make of each clip: pandas in, pandas out.

Labels are those of :meth:`aor_lib.report.annotation.store.LabelStore.labels`. What cannot be
estimated is NaN, never a number: a single listener agrees with nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aor_lib.analysis.stats import CONFIDENCE, RESAMPLES

TIE = "tie"
"""Verdict on a clip of which two labels are equally frequent."""

Floats = npt.NDArray[np.float64]


def agreement(labels: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Agreement on clips with and without their scene, apart.

    Returns
    -------
    One row for each value of ``with_scene`` that was labelled: ``with_scene``, ``listeners``,
    ``labels``, ``stimuli`` (labelled by two listeners or more: the only ones that count),
    ``alpha``, ``low``, ``high`` (95 %, see :func:`alpha_interval`).
    """
    rows = []
    for with_scene, group in labels.groupby("with_scene", sort=True):
        table = ratings(group)
        low, high = alpha_interval(table, seed)
        rows.append(
            {
                "with_scene": with_scene,
                "listeners": group["listener"].nunique(),
                "labels": len(group),
                "stimuli": int((table.notna().sum(axis=1) >= 2).sum()),
                "alpha": krippendorff_alpha(table),
                "low": low,
                "high": high,
            }
        )
    columns = ["with_scene", "listeners", "labels", "stimuli", "alpha", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def verdicts(labels: pd.DataFrame) -> pd.DataFrame:
    """What listeners make of each clip.

    Returns
    -------
    One row a sound: ``stimulus_sha256``, ``with_scene``, ``listeners``, ``label`` (the most
    frequent one, or ``tie`` where that is not a single one), ``share`` (of the listeners who gave
    the most frequent label, also where it is tied).
    """
    rows = []
    for (sha256, with_scene), group in labels.groupby(["stimulus_sha256", "with_scene"]):
        counts = group["label"].value_counts()
        top = counts.index[counts == counts.max()]
        rows.append(
            {
                "stimulus_sha256": sha256,
                "with_scene": with_scene,
                "listeners": len(group),
                "label": top[0] if len(top) == 1 else TIE,
                "share": counts.max() / len(group),
            }
        )
    columns = ["stimulus_sha256", "with_scene", "listeners", "label", "share"]
    return pd.DataFrame(rows, columns=columns)


def ratings(labels: pd.DataFrame) -> pd.DataFrame:
    """Labels as a table: one row a sound, one column a listener, None where one did not label."""
    return labels.pivot(index=["stimulus_sha256", "with_scene"], columns="listener", values="label")


def krippendorff_alpha(ratings: pd.DataFrame) -> float:
    """Krippendorff's alpha of nominal ratings: 1 is perfect agreement, 0 is that of chance.

    Parameters
    ----------
    ratings
        One row a unit, one column an observer; None or NaN where a rating is missing. Units with
        fewer than two ratings do not count.

    Returns
    -------
    alpha, or NaN where it is not defined: no unit has two ratings, or all ratings are the same.

    Notes
    -----
    From the counts of each category in each unit, after K. Krippendorff, "Computing Krippendorff's
    alpha-reliability" (2011), section C.
    """
    counts = _pairable_counts(ratings)
    return float(_alphas(counts, np.ones((1, len(counts))))[0])


def alpha_interval(ratings: pd.DataFrame, seed: int) -> tuple[float, float]:
    """95 % percentile bootstrap interval of :func:`krippendorff_alpha` over units.

    Units are resampled with all of their ratings, 10,000 times (A. Zapf et al., "Measuring
    inter-rater reliability for nominal data", BMC Medical Research Methodology 16:93, 2016).
    Resamples in which all ratings are the same have no alpha and are left out. The interval is NaN
    where alpha is, and where all units are in perfect agreement: nothing varies then that could be
    resampled, which does not make the estimate certain.
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


def in_words(row: Mapping[str, Any] | pd.Series[Any]) -> str:
    """A row of :func:`agreement` in words."""
    if row["stimuli"] == 0:
        return "no agreement to compute: no clip has the labels of two listeners"
    of = f"{row['stimuli']} clips that two or more of {row['listeners']} listeners labelled"
    if np.isnan(row["alpha"]):
        return f"no agreement to compute: all labels of the {of} are the same"
    alpha = f"Krippendorff's alpha {row['alpha']:.2f}".replace("-", "\N{MINUS SIGN}")
    if np.isnan(row["low"]):
        return f"{alpha} ({of}; too uniform for an interval)"
    interval = f"{row['low']:.2f} to {row['high']:.2f}".replace("-", "\N{MINUS SIGN}")
    return f"{alpha} (95% interval {interval}; {of})"


def _pairable_counts(ratings: pd.DataFrame) -> Floats:
    """How often each category was given, ``(units, categories)``, for units of two or more."""
    if ratings.empty:
        return np.zeros((0, 0))
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
