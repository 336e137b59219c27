"""Differences between models that answered the same utterances.

Two intervals may overlap although the models differ, and with many models the top rank may be
chance. All pairs of models are one family of tests for each measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, permutation_test

from aor_lib.analysis.outcomes import (
    check,
    count_names,
    counts,
    counts_by,
    is_judged,
    rates_by_utterance,
)
from aor_lib.analysis.stats.detection import estimable, refusals_by_family, sensitivity
from aor_lib.analysis.stats.intervals import CONFIDENCE, DRAWS, over_clusters, rate_draws
from aor_lib.analysis.stats.paired import adjusted, compare

_RESAMPLES = 9_999


def model_rates(results: pd.DataFrame) -> pd.DataFrame:
    """Difference in refusal rate of each two models, by utterance, for each intent.

    Returns
    -------
    One row per intent and pair: ``intent``, ``model``, ``against``, then the columns of
    :func:`aor_lib.analysis.stats.paired_differences` from the counts on. The pairs of an intent are
    one family.
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
    names = ["intent", "model", "against", *count_names(results)]
    measures = ["utterances", "difference", "low", "high", "p_value"]
    return adjusted(pd.DataFrame(rows, columns=[*names, *measures]), "intent")


def model_d_primes(results: pd.DataFrame) -> pd.DataFrame:
    """Difference of d' between each two models, over the utterances that both answered.

    Interval and p value are those of a bootstrap that draws the four rates of two models over the
    same families (:func:`aor_lib.analysis.stats.intervals.rate_draws`). In 2,000 simulated studies
    each of 12 to 320 families, a single test at the 5 % level rejected equal d' in 5 to 6 %.

    Returns
    -------
    One row per pair: ``model``, ``against``, the counts of
    :func:`aor_lib.analysis.outcomes.counts`, ``utterances`` (families), ``d_prime`` (the first less
    the second), ``low``, ``high`` (95 %), ``p_value``, ``p_holm``; all pairs are one family of
    tests. The measures are NaN unless the d' of both models is
    :func:`aor_lib.analysis.stats.detection.estimable`.
    """
    check(results, ["model", "intent"])
    rows = []
    for (model, first), (against, second) in combinations(results.groupby("model"), 2):
        both = pd.concat([first, second])
        judged = both[is_judged(both)]
        shared = judged.groupby("utterance_id")["model"].transform("nunique") == 2
        groups = refusals_by_family(judged[shared], ["model"])
        cells = [cell for _, _, of_model in groups for cell in of_model]
        rows.append(
            {"model": model, "against": against} | counts(both) | _d_prime_difference(cells)
        )
    names = ["model", "against", *count_names(results)]
    measures = ["utterances", "d_prime", "low", "high", "p_value"]
    pairs = pd.DataFrame(rows, columns=[*names, *measures])
    return adjusted(pairs.assign(family="all"), "family").drop(columns="family")


def _d_prime_difference(cells: Sequence[pd.DataFrame]) -> dict[str, float]:
    if not cells or not (estimable(*cells[:2]) and estimable(*cells[2:])):
        return {"utterances": 0}
    refused, judged = over_clusters(cells)
    z = norm.ppf(rate_draws(refused, judged))
    draws = (z[:, 0] - z[:, 1]) - (z[:, 2] - z[:, 3])
    beyond = 1 + min((draws <= 0).sum(), (draws >= 0).sum())
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    first, second = sensitivity(cells[0], cells[1]), sensitivity(cells[2], cells[3])
    return {
        "utterances": len(judged),
        "d_prime": first["d_prime"] - second["d_prime"],
        "low": float(low),
        "high": float(high),
        "p_value": min(1.0, 2 * beyond / (DRAWS + 1)),
    }


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
            p_values[str(model)] = _spread_p_value(samples, "independent")
    return p_values.rename_axis("model")


def _spread_p_value(samples: list[pd.Series[float]], kind: str) -> float:
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
    sizes = [sample.shape[axis] for sample in samples]
    means = np.stack([sample.mean(axis=axis) for sample in samples])
    grand = np.average(means, axis=0, weights=sizes)
    return np.average((means - grand) ** 2, axis=0, weights=sizes)
