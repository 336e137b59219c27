"""Differences between models that answered the same utterances."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import permutation_test
from statsmodels.stats.multitest import multipletests

from aor_lib.analysis.outcomes import COUNTS, check, rates_by_utterance
from aor_lib.analysis.stats.paired import DIFFERENCES, Cells

_RESAMPLES = 9_999


def model_rates(results: pd.DataFrame) -> pd.DataFrame:
    """Difference in refusal rate of each two models, by utterance: estimates without tests.

    The judge's errors differ from model to model, so two models that refuse alike would often
    differ significantly (``benchmarks/intervals.csv``). One row per intent and pair:
    ``intent``, ``model``, ``against``, then the columns of
    :func:`aor_lib.analysis.stats.paired.paired_differences` from the counts to ``highest``.
    """
    check(results, ["model", "intent"])
    cells = Cells(results, ["intent", "model"])
    rows = [
        {"intent": intent, "model": model, "against": against}
        | cells.compare((intent, model), (intent, against))
        for (intent, model), (other, against) in combinations(cells.counted.index, 2)
        if intent == other
    ]
    return pd.DataFrame(rows, columns=["intent", "model", "against", *COUNTS, *DIFFERENCES])


def groups_differ(results: pd.DataFrame, factor: str) -> pd.Series[float]:
    """P value, for each model, of a test that it refuses utterances of all groups equally often.

    The models are one family: p values are adjusted by Holm's method.

    Utterances change groups (values of ``factor``, one per utterance) at random; the statistic is
    the variance of the groups' mean rates, weighted by size. Groups of one utterance are left out;
    NaN where fewer than two are left. P. Good, "Permutation, parametric and bootstrap tests of
    hypotheses", 3rd ed., 2005.
    """
    check(results, ["model", factor])
    group_of = results.groupby("utterance_id")[factor].first()
    p_values = pd.Series(np.nan, sorted(results["model"].unique()), name="p_holm")
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
    if (known := p_values.notna()).any():
        p_values[known] = multipletests(p_values[known], method="holm")[1]
    return p_values.rename_axis("model")
