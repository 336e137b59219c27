"""How far a judge and people, or two people, agree: pandas in, pandas out.

Labels are those of :class:`aor_lib.config.records.Label`. What cannot be estimated is NaN.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from aor_lib.analysis.stats import CONFIDENCE, REFUSALS, RESAMPLES, wilson
from aor_lib.report.annotation.agreement import alpha_interval, krippendorff_alpha

_COMPLIANCE = "full_compliance"


def cohen_kappa(first: pd.Series[Any], second: pd.Series[Any]) -> float:
    """Cohen's kappa of two raters' labels of the same things, in the same order.

    1 is perfect agreement, 0 is that of chance (J. Cohen, "A coefficient of agreement for nominal
    scales", Educational and Psychological Measurement 20(1):37-46, 1960). Things that one of them
    has not labelled are left out; NaN where nothing is left or all labels are the same.
    """
    return float(_kappas(_cells(first, second)[None])[0])


def kappa_interval(first: pd.Series[Any], second: pd.Series[Any], seed: int) -> tuple[float, float]:
    """95 % percentile bootstrap interval of :func:`cohen_kappa` over what was labelled.

    NaN where kappa is, and where the two always agree: nothing varies then.
    """
    cells = _cells(first, second)
    n = int(cells.sum())
    if n == 0 or np.trace(cells) == n:
        return np.nan, np.nan
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(n, cells.ravel() / n, size=RESAMPLES).reshape(-1, *cells.shape)
    kappas = _kappas(draws.astype(float))
    low, high = np.nanquantile(kappas, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def any_refusal(labels: pd.Series[Any]) -> pd.Series[Any]:
    """``refusal`` for a partial or a full one; all other labels as they are."""
    return labels.replace(dict.fromkeys(REFUSALS, "refusal"))


def pairwise(ratings: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Agreement of every two columns, on all labels and on any refusal against compliance.

    ``ratings``: one row an answer, one column a person or a judge, None where one has not
    labelled it.

    Returns
    -------
    One row a pair: ``first``, ``second``, ``answers`` (that both labelled), ``kappa``, ``low``,
    ``high`` (95 %), ``kappa_any_refusal``, ``alpha`` (Krippendorff's, of the two).
    """
    rows = []
    for first, second in combinations(ratings.columns, 2):
        pair = ratings[[first, second]].dropna()
        low, high = kappa_interval(pair[first], pair[second], seed)
        refused = pair.apply(any_refusal)
        rows.append(
            {
                "first": first,
                "second": second,
                "answers": len(pair),
                "kappa": cohen_kappa(pair[first], pair[second]),
                "low": low,
                "high": high,
                "kappa_any_refusal": cohen_kappa(refused[first], refused[second]),
                "alpha": krippendorff_alpha(pair),
            }
        )
    columns = ["first", "second", "answers", "kappa", "low", "high", "kappa_any_refusal", "alpha"]
    return pd.DataFrame(rows, columns=columns)


def alpha_of_all(ratings: pd.DataFrame, seed: int) -> tuple[float, float, float]:
    """Krippendorff's alpha of all columns, with its 95 % interval."""
    return krippendorff_alpha(ratings), *alpha_interval(ratings, seed)


def confirmed(ratings: pd.DataFrame, judge: str, people: list[str]) -> pd.DataFrame:
    """How often people give an answer the judge's label, for each of its labels.

    Unlike sensitivity, this share does not depend on how often each label was drawn.

    Returns
    -------
    One row a label of the judge: ``label``, ``labels`` (that people gave), ``agreeing``, ``rate``,
    ``low``, ``high`` (95 %, Wilson).
    """
    long = ratings.melt(id_vars=[judge], value_vars=people, value_name="human").dropna()
    rows = []
    for label, group in long.groupby(judge, sort=True):
        agreeing = int((group["human"] == label).sum())
        low, high = wilson(agreeing, len(group))
        counts = {"label": label, "labels": len(group), "agreeing": agreeing}
        rows.append(counts | {"rate": agreeing / len(group), "low": low, "high": high})
    return pd.DataFrame(rows, columns=["label", "labels", "agreeing", "rate", "low", "high"])


def calibration(p_refusal: pd.Series[Any], human: pd.Series[Any], bins: int = 10) -> pd.DataFrame:
    """How often people call a refusal what the judge gives a probability.

    Returns
    -------
    One row a bin of equal width that holds an answer: ``answers``, ``predicted`` (mean
    probability), ``rate`` (of any refusal, by people), ``low``, ``high`` (95 %, Wilson).
    """
    known = p_refusal.notna() & human.isin([*REFUSALS, _COMPLIANCE])
    p = p_refusal[known].to_numpy(dtype=float)
    refused = human[known].isin(REFUSALS).to_numpy()
    place = np.minimum((p * bins).astype(int), bins - 1)
    rows = []
    for index in np.unique(place):
        inside = place == index
        count, hits = int(inside.sum()), int(refused[inside].sum())
        low, high = wilson(hits, count)
        row = {"answers": count, "predicted": p[inside].mean(), "rate": hits / count}
        rows.append(row | {"low": low, "high": high})
    return pd.DataFrame(rows, columns=["answers", "predicted", "rate", "low", "high"])


def in_words(value: float, low: float = np.nan, high: float = np.nan) -> str:
    """A kappa or an alpha, with its interval where there is one."""
    if np.isnan(value):
        return "not defined"
    text = (
        f"{value:.2f}" if np.isnan(low) else f"{value:.2f} (95% interval {low:.2f} to {high:.2f})"
    )
    return text.replace("-", "\N{MINUS SIGN}")


def _cells(first: pd.Series[Any], second: pd.Series[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Counts of each pair of labels, ``(labels, labels)``."""
    both = pd.DataFrame({"first": first.to_numpy(), "second": second.to_numpy()}).dropna()
    names = sorted(set(both["first"]) | set(both["second"]))
    table = pd.crosstab(both["first"], both["second"]).reindex(index=names, columns=names)
    return table.fillna(0).to_numpy(dtype=float)


def _kappas(cells: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Kappa of each table, ``(tables, labels, labels)``."""
    n = cells.sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(cells, axis1=1, axis2=2) / n
        expected = (cells.sum(axis=1) * cells.sum(axis=2)).sum(axis=1) / n**2
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)
