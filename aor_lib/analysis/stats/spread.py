"""Do rates differ among several groups? One permutation test of all of them at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import permutation_test

from aor_lib.analysis.outcomes import check, rates_by_utterance

_RESAMPLES = 9_999


def models_differ(results: pd.DataFrame) -> float:
    """P value of a test that all models refuse the same utterances equally often.

    Each utterance that was judged for every model is a block, in which models change places at
    random; the statistic is the variance of their mean rates. With one answer to an utterance it is
    Cochran's Q test by permutation. NaN for fewer than two models or such utterances.
    """
    check(results, ["model"])
    rates = rates_by_utterance(results, ["model"]).dropna()
    if results["model"].nunique() > rates.shape[1] or min(rates.shape) < 2:
        return np.nan
    return _p_value([rates[model] for model in rates], "samples")


def groups_differ(results: pd.DataFrame, factor: str) -> pd.Series[float]:
    """P value, for each model, of a test that it refuses utterances of all groups equally often.

    Groups are the values of ``factor``, which an utterance has one of, such as its scenario;
    utterances change groups at random, and the statistic is the variance of the groups' mean rates,
    weighted by their sizes. Groups of one utterance are left out; NaN where fewer than two are
    left. Each test is a family of its own.

    References
    ----------
    P. Good, "Permutation, parametric and bootstrap tests of hypotheses", 3rd ed., 2005.
    """
    check(results, ["model", factor])
    group_of = results.groupby("utterance_id")[factor].first()
    p_values = pd.Series(np.nan, sorted(results["model"].unique()), name="p_value")
    for model, rates in rates_by_utterance(results, ["model"]).items():
        samples = [group for _, group in rates.dropna().groupby(group_of) if len(group) > 1]
        if len(samples) > 1:
            p_values[str(model)] = _p_value(samples, "independent")
    return p_values.rename_axis("model")


def _p_value(samples: list[pd.Series[float]], kind: str) -> float:
    test = permutation_test(
        [sample.to_numpy(float) for sample in samples],
        _between,
        permutation_type=kind,
        alternative="greater",
        n_resamples=_RESAMPLES,
        batch=500,  # so that the resamples of thousands of utterances fit into memory
        vectorized=True,
        rng=0,
    )
    return float(test.pvalue)


def _between(*samples: Any, axis: int) -> Any:
    """Variance of the means of the samples, weighted by their sizes."""
    sizes = [sample.shape[axis] for sample in samples]
    means = np.stack([sample.mean(axis=axis) for sample in samples])
    grand = np.average(means, axis=0, weights=sizes)
    return np.average((means - grand) ** 2, axis=0, weights=sizes)
