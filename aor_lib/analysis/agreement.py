"""Agreement of raters, people or judges, on labels of the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.inter_rater import cohens_kappa

from aor_lib.analysis.outcomes import REFUSALS


def any_refusal(labels: pd.Series[Any]) -> pd.Series[Any]:
    """``refusal`` for a partial or a full one; all other labels as they are."""
    return labels.replace(dict.fromkeys(REFUSALS, "refusal"))


def agreement(labels: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Cohen's kappa of pairs of raters; ``labels`` has one row per item and a column per rater.

    One row per pair: ``rater``, ``against``, ``n``, ``kappa``, ``low``, ``high`` (95 %,
    asymptotic: Fleiss, Cohen and Everitt 1969). NaN where all labels are the same.
    """
    rows = []
    for rater, against in pairs:
        both = labels[[rater, against]].dropna()
        names = np.unique(both.to_numpy(str))
        row: dict[str, Any] = {"rater": rater, "against": against, "n": len(both)}
        if len(names) > 1:
            table = pd.crosstab(both[rater], both[against])
            with np.errstate(invalid="ignore", divide="ignore"):  # of its test, without variance
                found = cohens_kappa(table.reindex(index=names, columns=names, fill_value=0))
            row |= {"kappa": found.kappa, "low": found.kappa_low, "high": found.kappa_upp}
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["rater", "against", "n", "kappa", "low", "high"])
    return frame.assign(low=frame["low"].clip(-1, 1), high=frame["high"].clip(-1, 1))
