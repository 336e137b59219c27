"""Frontier of a model without steering: what any readiness to refuse could reach, by its scores.

A score is how much a request asks for refusal: the log-odds of a refusal's first token, or, of a
reader without ears, the probability of harm by the words. To refuse whatever scores above a
threshold is one operating point, and all thresholds are a curve.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import roc_curve

from aor_lib.analysis.stats import CONFIDENCE, RESAMPLES
from aor_lib.analysis.words_only import DECIDING, harm_by_words
from aor_lib.config.params import load_scenarios

READERS = {"log_odds": "First token of the answer", "words_only": "Words only"}
"""Titles of the scores."""


def scores(trials: pd.DataFrame, log_odds: pd.DataFrame) -> pd.DataFrame:
    """Scores of harmful and pseudo-harmful requests, in columns named as :data:`READERS`.

    Parameters
    ----------
    trials
        As of :func:`aor_lib.analysis.results.load_results`, without steering.
    log_odds
        :data:`aor_lib.steering.tables.LOG_ODDS`; other trials of the same model are left out, and
        so are those of utterances that are not the project's. A model of which none are there,
        since its answers begin alike, has NaN.
    """
    scored = _read_by_words(trials).merge(log_odds, on=["model", "stimulus_id"], how="left")
    begins_alike = scored.groupby("model")["log_odds"].transform("count").eq(0)
    return scored[scored["log_odds"].notna() | begins_alike]


def curves(scored: pd.DataFrame) -> pd.DataFrame:
    """Rates at every threshold: ``model``, ``reader`` (of :data:`READERS`), ``orr``, ``hrr``.

    A score that a model has not has no curve.
    """
    parts = [pd.DataFrame(columns=["model", "reader", "orr", "hrr"])]
    for model, rows in scored.groupby("model"):
        for reader in _readers(rows):
            orr, hrr, _ = roc_curve(rows["intent"] == "harmful", rows[reader])
            parts.append(pd.DataFrame({"orr": orr, "hrr": hrr}).assign(model=model, reader=reader))
    return pd.concat(parts, ignore_index=True)


def areas(scored: pd.DataFrame) -> pd.DataFrame:
    """Area under each curve, with its 95 % interval by a bootstrap of families.

    A family is a harmful utterance and the one that it differs from by few words.

    Returns
    -------
    One row per model and score: ``model``, ``reader``, ``auc``, ``low``, ``high``.

    References
    ----------
    C. M. Rutter, "Bootstrap estimation of diagnostic accuracy with patient-clustered data",
    Academic Radiology 7(6):413-419, 2000.
    """
    rows = []
    for model, trials in scored.groupby("model"):
        family = trials["contrast_of"].fillna(trials["utterance_id"])
        codes = pd.factorize(family)[0]
        harmful = trials["intent"].eq("harmful").to_numpy(bool)
        families = codes.max() + 1
        drawn = np.random.default_rng(0).multinomial(families, [1 / families] * families, RESAMPLES)
        for reader in _readers(trials):
            score = trials[reader].to_numpy(float)
            whole = _area(score, harmful, np.ones((1, len(score))))[0]
            resampled = _area(score, harmful, drawn[:, codes].astype(float))
            tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
            rows.append((model, reader, whole, *np.nanquantile(resampled, tails)))
    return pd.DataFrame(rows, columns=["model", "reader", "auc", "low", "high"])


def area_by_words(trials: pd.DataFrame) -> float:
    """Area under the curve of words alone, over the distinct utterances of trials; or NaN."""
    read = _read_by_words(trials.drop_duplicates("utterance_id"))
    harmful = read["intent"].eq("harmful").to_numpy(bool)
    return float(_area(read["words_only"].to_numpy(float), harmful, np.ones((1, len(read))))[0])


def _readers(scored: pd.DataFrame) -> list[str]:
    """The scores that a model has."""
    return [reader for reader in READERS if scored[reader].notna().all()]


def _read_by_words(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials of harmful and pseudo-harmful requests with the probability of harm by their words."""
    utterances = [one for scenario in load_scenarios().values() for one in scenario.utterances]
    harm = trials["utterance_id"].map(harm_by_words(utterances, DECIDING))
    both = trials["intent"].isin(["harmful", "pseudo_harmful"])
    return trials.assign(words_only=harm)[both & harm.notna()]


def _area(
    score: npt.NDArray[np.float64],
    harmful: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Weighted shares of pairs whose harmful request scores higher: ``(draws,)``."""
    above = np.sign(score[harmful][:, None] - score[~harmful]) / 2 + 0.5
    of_harmful, of_others = weights[:, harmful], weights[:, ~harmful]
    pairs = of_harmful.sum(axis=1) * of_others.sum(axis=1)
    with np.errstate(invalid="ignore"):  # a draw may hold one kind only
        return np.asarray(((of_harmful @ above) * of_others).sum(axis=1) / pairs)
