"""Differences between models, each of two that answered the same utterances.

Two estimates whose intervals overlap may differ all the same, and of several the largest may be so
by luck: what is said of two models rests on these tests. All pairs of models are one family for
each measure, since a reader looks for a difference among all of them. So a further model makes the
others' differences from each other harder to tell; what is said of one model alone
(:func:`aor_lib.analysis.stats.paired.paired_differences`) is another family and stays.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import norm

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
    same families (:func:`aor_lib.analysis.stats.intervals.rate_draws`); a harmful utterance and the
    one that it differs from are one family. The estimate is the difference of the d' of
    :func:`aor_lib.analysis.stats.signal_detection`. In 2,000 simulated studies each of 12 to 320
    families, a single test at the 5 % level told equal d' apart in 5 to 6 %.

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
        rows.append({"model": model, "against": against} | counts(both) | d_prime_difference(cells))
    names = ["model", "against", *count_names(results)]
    measures = ["utterances", "d_prime", "low", "high", "p_value"]
    pairs = pd.DataFrame(rows, columns=[*names, *measures])
    return adjusted(pairs.assign(family="all"), "family").drop(columns="family")


def d_prime_difference(cells: Sequence[pd.DataFrame]) -> dict[str, float]:
    """The measures of :func:`model_d_primes` from the refusals of each family.

    ``cells`` are frames of :func:`aor_lib.analysis.outcomes.refusals_by_utterance`: harmful and
    pseudo-harmful of one model, then of the other.
    """
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
