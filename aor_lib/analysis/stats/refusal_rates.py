"""Refusal rates with intervals."""

import numpy as np
import pandas as pd

from aor_lib.analysis.outcomes import check, count_names, counts, refusals_by_utterance
from aor_lib.analysis.stats.intervals import rate_interval


def rates(results: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Rate of any refusal (partial or full) among judged answers, for each group.

    One row per group: the ``by`` columns, :func:`aor_lib.analysis.outcomes.counts`, ``utterances``
    (judged), ``rate``, ``low``, ``high`` (95 %), ``interval`` (its name: see
    :func:`aor_lib.analysis.stats.intervals.rate_interval`). NaN where nothing was judged.
    """
    check(results, by)
    rows = []
    for group, trials in results.groupby(by, sort=True, observed=True):
        clusters = refusals_by_utterance(trials)
        refused, judged = clusters["refused"].to_numpy(float), clusters["judged"].to_numpy(float)
        low, high, interval = rate_interval(refused, judged)
        rows.append(
            dict(zip(by, group, strict=True))
            | counts(trials)
            | {
                "utterances": len(clusters),
                "rate": refused.sum() / judged.sum() if len(clusters) else np.nan,
                "low": low,
                "high": high,
                "interval": interval,
            }
        )
    measures = ["utterances", "rate", "low", "high", "interval"]
    return pd.DataFrame(rows, columns=[*by, *count_names(results), *measures])
