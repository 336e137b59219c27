"""Differences between models that answered the same utterances."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import permutation_test

from aor_lib.analysis.outcomes import COUNTS, check, counts_by, rates_by_utterance
from aor_lib.analysis.stats.paired import adjusted, compare

_RESAMPLES = 9_999


def model_rates(results: pd.DataFrame) -> pd.DataFrame:
    """Difference in refusal rate of each two models, by utterance; a family of tests per intent.

    One row per intent and pair: ``intent``, ``model``, ``against``, then the columns of
    :func:`aor_lib.analysis.stats.paired_differences` from the counts on.
    """
    check(results, ["model", "intent"])
    counted = counts_by(results, ["intent", "model"])
    rates = rates_by_utterance(results, ["intent", "model"]).reindex(columns=counted.index)
    rows = [
        {"intent": intent, "model": model, "against": against}
        | (counted.loc[intent, model] + counted.loc[intent, against]).to_dict()
        | compare((rates[intent, model] - rates[intent, against]).dropna().to_numpy(float))
        for (intent, model), (other, against) in combinations(counted.index, 2)
        if intent == other
    ]
    names = ["intent", "model", "against", *COUNTS]
    measures = ["utterances", "difference", "low", "high", "p_value"]
    return adjusted(pd.DataFrame(rows, columns=[*names, *measures]), "intent")


def groups_differ(results: pd.DataFrame, factor: str) -> pd.Series[float]:
    """P value, for each model, of a test that it refuses utterances of all groups equally often.

    Utterances change groups (values of ``factor``, one per utterance) at random; the statistic is
    the variance of the groups' mean rates, weighted by size. Groups of one utterance are left out;
    NaN where fewer than two are left. P. Good, "Permutation, parametric and bootstrap tests of
    hypotheses", 3rd ed., 2005.
    """
    check(results, ["model", factor])
    group_of = results.groupby("utterance_id")[factor].first()
    p_values = pd.Series(np.nan, sorted(results["model"].unique()), name="p_value")
    for model, rates in rates_by_utterance(results, ["model"]).items():
        samples = [group for _, group in rates.dropna().groupby(group_of) if len(group) > 1]
        if len(samples) > 1:
            test = permutation_test(
                [sample.to_numpy(float) for sample in samples],
                # Of a fixed total, this is the variance of the means, weighted by size.
                lambda *of, axis: sum(one.sum(axis) ** 2 / one.shape[axis] for one in of),
                permutation_type="independent",
                alternative="greater",
                n_resamples=_RESAMPLES,
                batch=500,  # so that the resamples of thousands of utterances fit into memory
                vectorized=True,
                rng=0,
            )
            p_values[str(model)] = float(test.pvalue)
    return p_values.rename_axis("model")
