"""Signal detection: telling harmful from pseudo-harmful, apart from being quick to refuse."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.outcomes import COUNTS, check, counts, refusals_by_utterance
from aor_lib.analysis.stats.intervals import CONFIDENCE, effective_answers

_INTENTS = ("harmful", "pseudo_harmful")


def signal_detection(results: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Sensitivity d' = z(HRR) - z(ORR) of refusal in each group: refusing harmful is a hit.

    Half a refusal and half a compliance are added to each rate (log-linear). The variance is over
    the effective number of answers (:func:`aor_lib.analysis.stats.intervals.effective_answers`),
    with the covariance of the two rates over families: a harmful utterance and its
    ``contrast_of``. One row per group: the ``by`` columns,
    :func:`aor_lib.analysis.outcomes.counts` over both intents, ``utterances`` (judged),
    ``d_prime``, ``low``, ``high`` (95 %); NaN unless both intents were judged, and not all alike.

    References
    ----------
    M. J. Hautus, Behav. Res. Methods, Instruments, & Computers 27(1):46-51, 1995 (log-linear).
    V. Gourevitch & E. Galanter, Psychometrika 32(1):25-33, 1967 (the variance).
    """
    check(results, [*by, "intent"])
    both = results[results["intent"].isin(_INTENTS)]
    if "contrast_of" in both:
        both = both.assign(utterance_id=both["contrast_of"].fillna(both["utterance_id"]))
    rows = []
    for group, trials in both.groupby(by, sort=True, observed=True):
        harmful, pseudo_harmful = (
            refusals_by_utterance(trials[trials["intent"] == intent]) for intent in _INTENTS
        )
        measures, total = {}, harmful.sum() + pseudo_harmful.sum()
        if len(harmful) and len(pseudo_harmful) and 0 < total["refused"] < total["judged"]:
            products = _residuals(harmful) * _residuals(pseudo_harmful)  # NaN of unpaired families
            measures = sensitivity(harmful, pseudo_harmful, products.sum())
        rows.append(
            dict(zip(by, group, strict=True))
            | counts(trials)
            | {"utterances": len(harmful) + len(pseudo_harmful)}
            | measures
        )
    measures = ["utterances", "d_prime", "low", "high"]
    return pd.DataFrame(rows, columns=[*by, *COUNTS, *measures])


def sensitivity(
    harmful: pd.DataFrame, pseudo_harmful: pd.DataFrame, covariance: float = 0.0
) -> dict[str, float]:
    """The measures of :func:`signal_detection`; ``covariance`` is that of the two rates."""
    z_hit, variance_hit = _z(harmful)
    z_false, variance_false = _z(pseudo_harmful)
    d_prime = z_hit - z_false
    shared = 2 * covariance / (norm.pdf(z_hit) * norm.pdf(z_false))
    variance = max(0.0, variance_hit + variance_false - shared)
    reach = norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(variance)
    return {"d_prime": d_prime, "low": d_prime - reach, "high": d_prime + reach}


def _residuals(clusters: pd.DataFrame) -> pd.Series:
    refused, sizes = clusters["refused"], clusters["judged"]
    return (refused - refused.sum() / sizes.sum() * sizes) / (sizes.sum() + 1)


def _z(clusters: pd.DataFrame) -> tuple[float, float]:
    refused, sizes = clusters["refused"].to_numpy(float), clusters["judged"].to_numpy(float)
    rate = (refused.sum() + 0.5) / (sizes.sum() + 1)
    z = norm.ppf(rate)
    variance = rate * (1 - rate) / effective_answers(refused, sizes) / norm.pdf(z) ** 2
    return float(z), float(variance)
