"""Sensitivity d' of refusals: to a request's intent, and to the scene behind the same words.

Each rate has half a refusal and half a compliance added (log-linear correction: M. J. Hautus,
Behav. Res. Methods, Instruments, & Computers 27(1):46-51, 1995).
"""

import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis import outcomes
from aor_lib.analysis.stats.intervals import CONFIDENCE, DRAWS, effective_answers
from aor_lib.config.records import Condition, Intent

_INTENTS = ("harmful", "pseudo_harmful")
CONTRASTS = {
    "threatening_benign": (Condition.THREATENING_SCENE, Condition.BENIGN_SCENE),
    "neutral_benign": (Condition.NEUTRAL_SCENE, Condition.BENIGN_SCENE),
}
"""Pairs of conditions (a, b): a model that uses the scene refuses more often in a than in b."""
_MEASURES = ["utterances", "d_prime", "low", "high"]


def signal_detection(results: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Sensitivity d' = z(HRR) - z(ORR) in each group; refusing a harmful request is a hit.

    The variance (V. Gourevitch & E. Galanter, Psychometrika 32(1):25-33, 1967) uses the effective
    number of answers (:func:`aor_lib.analysis.stats.intervals.effective_answers`) and includes the
    covariance of the two rates over families (a harmful utterance and its ``contrast_of``). One row
    per group: the ``by`` columns, :func:`aor_lib.analysis.outcomes.counts` over both intents,
    ``utterances`` (judged), ``d_prime``, ``low``, ``high`` (95 %). NaN if an intent has no judged
    answer, or if all judged answers are refusals or none is.
    """
    outcomes.check(results, [*by, "intent"])
    both = results[results["intent"].isin(_INTENTS)]
    if "contrast_of" in both:
        both = both.assign(utterance_id=both["contrast_of"].fillna(both["utterance_id"]))
    rows = []
    for group, trials in both.groupby(by, sort=True, observed=True):
        sides = [trials[trials["intent"] == intent] for intent in _INTENTS]
        harmful, pseudo_harmful = map(outcomes.refusals_by_utterance, sides)
        measures: dict[str, float] = {"utterances": len(harmful) + len(pseudo_harmful)}
        total = harmful.sum() + pseudo_harmful.sum()
        if len(harmful) and len(pseudo_harmful) and 0 < total["refused"] < total["judged"]:
            products = _residuals(harmful) * _residuals(pseudo_harmful)  # NaN for unpaired families
            measures |= sensitivity(harmful, pseudo_harmful, products.sum())
        rows.append(dict(zip(by, group, strict=True)) | outcomes.counts(trials) | measures)
    return pd.DataFrame(rows, columns=[*by, *outcomes.COUNTS, *_MEASURES])


def sensitivity(
    harmful: pd.DataFrame, pseudo_harmful: pd.DataFrame, covariance: float = 0.0
) -> dict[str, float]:
    """Compute d' and its limits for :func:`signal_detection`, given the rates' covariance."""
    z_hit, variance_hit = _z(harmful)
    z_false, variance_false = _z(pseudo_harmful)
    d_prime = z_hit - z_false
    shared = 2 * covariance / (norm.pdf(z_hit) * norm.pdf(z_false))
    variance = max(0.0, variance_hit + variance_false - shared)
    reach = norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(variance)
    return {"d_prime": d_prime, "low": d_prime - reach, "high": d_prime + reach}


def hearing_sensitivity(results: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """d' of hearing by group and contrast: z(refusal rate in scene a) - z(refusal rate in scene b).

    It is computed from the pseudo-harmful utterances that were judged in both scenes in the same
    voice, with equal weights; a model that uses only the words has a d' of 0.

    ``results`` are of the core design (:func:`aor_lib.analysis.selections.context`). One row per
    group and contrast of :data:`CONTRASTS`: the ``by`` columns, ``contrast``,
    :func:`aor_lib.analysis.outcomes.counts` over both scenes, ``utterances`` (judged in both),
    ``d_prime``, ``low``, ``high`` (95 %, from draws of the Dirichlet posterior of a pair's four
    outcomes; a bootstrap has too little coverage near 0 and 1: ``benchmarks/intervals.csv``). NaN
    if no utterance was judged in both scenes.
    """
    outcomes.check(results, [*by, "intent", "condition", "voice"])
    sounding = results[results["intent"] == Intent.PSEUDO_HARMFUL]
    rows = []
    for contrast, (a, b) in CONTRASTS.items():
        trials = sounding[sounding["condition"].isin([a, b])]
        same = trials.groupby([*by, "utterance_id", "voice"], observed=True)
        kinds = same["condition"].transform("nunique")
        for group, of_group in trials[kinds == 2].groupby(by, observed=True):
            known = dict(zip(by, group, strict=True)) | {"contrast": contrast}
            rows.append(known | outcomes.counts(of_group) | _of_scenes(of_group, a, b))
    frame = pd.DataFrame(rows, columns=[*by, "contrast", *outcomes.COUNTS, *_MEASURES])
    return frame.sort_values(by, kind="stable", ignore_index=True)


def _residuals(clusters: pd.DataFrame) -> pd.Series:
    refused, sizes = clusters["refused"], clusters["judged"]
    return (refused - refused.sum() / sizes.sum() * sizes) / (sizes.sum() + 1)


def _z(clusters: pd.DataFrame) -> tuple[float, float]:
    refused, sizes = clusters["refused"].to_numpy(float), clusters["judged"].to_numpy(float)
    rate = (refused.sum() + 0.5) / (sizes.sum() + 1)
    z = norm.ppf(rate)
    variance = rate * (1 - rate) / effective_answers(refused, sizes) / norm.pdf(z) ** 2
    return float(z), float(variance)


def _of_scenes(trials: pd.DataFrame, a: Condition, b: Condition) -> dict[str, float]:
    by_voice = outcomes.rates_by_utterance(trials, ["voice", "condition"]).stack("voice")
    rates = pd.DataFrame(by_voice, columns=[a, b]).dropna().groupby("utterance_id").mean()
    if rates.empty:
        return {"utterances": 0}
    in_a, in_b = rates.to_numpy(float).T
    pairs = (in_a * in_b, in_a * (1 - in_b), (1 - in_a) * in_b, (1 - in_a) * (1 - in_b))
    counted = np.array([pair.sum() for pair in pairs]) + 0.25  # each rate is then Beta(k + 1/2)
    drawn = np.random.default_rng(0).dirichlet(counted, DRAWS)
    both, only_a, only_b, _ = np.vstack([counted / counted.sum(), drawn]).T
    z_a, z_b = norm.ppf(np.clip([both + only_a, both + only_b], 1e-12, 1 - 1e-12))
    low, high = np.quantile((z_a - z_b)[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return {"utterances": len(rates), "d_prime": z_a[0] - z_b[0], "low": low, "high": high}
