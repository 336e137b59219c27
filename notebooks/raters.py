"""Agreement between raters: people, the judge and others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import confusion_matrix
from statsmodels.stats.inter_rater import cohens_kappa

import aor_lib as aor
from aor_lib.analysis.people import any_refusal, load_evaluation

RATERS = ["judge", "gpt4", "string_match"]


def judge_agreement(study: aor.Study) -> aor.Estimates:
    """Cohen's kappa of the judge and two other raters against people, on XSTest's answers.

    ``labels`` tells whether it is on the three classes or on any refusal against compliance.
    """
    tables = []
    for source, answers in load_evaluation().groupby("source_model"):
        labels = answers[["human", *RATERS]]
        classes = {"three classes": labels, "any refusal": labels.apply(any_refusal)}
        for name, rated in classes.items():
            table = agreement(rated, [(rater, "human") for rater in RATERS])
            tables.append(table.assign(source_model=source, labels=name))
    frame = pd.concat(tables, ignore_index=True)
    return aor.Estimates(frame, ("labels", "source_model", "rater"), "kappa", study.titles)


def agreement(labels: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Cohen's kappa of pairs of raters; ``labels`` has one row per item, one column per rater.

    One row per pair: ``rater``, ``against``, ``n``, ``kappa``, ``low``, ``high`` (95 %,
    asymptotic: Fleiss, Cohen and Everitt 1969). NaN where all labels are the same.
    """
    rows = []
    for rater, against in pairs:
        both = labels[[rater, against]].dropna()
        row: dict[str, Any] = {"rater": rater, "against": against, "n": len(both)}
        if np.unique(both).size > 1:
            table = confusion_matrix(both[rater], both[against])
            with np.errstate(invalid="ignore", divide="ignore"):  # its test may divide by 0
                agreement = cohens_kappa(table)
            low, high = np.clip([agreement.kappa_low, agreement.kappa_upp], -1, 1)
            row |= {"kappa": agreement.kappa, "low": low, "high": high}
        rows.append(row)
    return pd.DataFrame(rows, columns=["rater", "against", "n", "kappa", "low", "high"])
