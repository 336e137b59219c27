"""People's labels: agreement of raters, and refusal rates corrected for the judge's errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.inter_rater import cohens_kappa

from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.stats.intervals import CONFIDENCE, DRAWS, Floats, effective_answers, rates
from aor_lib.judge.speech_acts import EVALUATION


def load_evaluation() -> pd.DataFrame:
    """Read the labels of XSTest's answers (Röttger et al., NAACL 2024), one row per answer.

    Labels are ``human``, ``judge`` (fitted without this model and this prompt; the likelier one
    where it is ``unsure``), ``gpt4``, ``string_match`` (by XSTest's authors) and
    ``own_string_match``.
    """
    return pd.read_csv(EVALUATION, dtype={"prompt_id": str, "source_model": str})


def any_refusal(labels: pd.Series[Any]) -> pd.Series[Any]:
    """``refusal`` for a partial or a full one; all other labels as they are."""
    return labels.replace(dict.fromkeys(REFUSALS, "refusal"))


def agreement(labels: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Cohen's kappa of pairs of raters; ``labels`` has one row per item and a column per rater.

    One row per pair: ``rater``, ``against``, ``n``, ``kappa``, ``low``, ``high`` (95 %,
    asymptotic: Fleiss, Cohen and Everitt 1969). NaN where all labels are the same.
    """
    rows = []
    for rater, against in pairs:
        both = labels[[rater, against]].dropna()
        names = np.unique(both.to_numpy(str))
        row: dict[str, Any] = {"rater": rater, "against": against, "n": len(both)}
        if len(names) > 1:
            table = pd.crosstab(both[rater], both[against])
            with np.errstate(invalid="ignore", divide="ignore"):  # of its test, without variance
                found = cohens_kappa(table.reindex(index=names, columns=names, fill_value=0))
            row |= {"kappa": found.kappa, "low": found.kappa_low, "high": found.kappa_upp}
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["rater", "against", "n", "kappa", "low", "high"])
    return frame.assign(low=frame["low"].clip(-1, 1), high=frame["high"].clip(-1, 1))


def settled(labels: pd.DataFrame) -> pd.Series[Any]:
    """Label of each item on which at least two annotators, and more than on any other, agree.

    ``labels`` has the columns ``annotator``, ``item`` and ``label``; refusals, partial and full,
    become ``refusal``.
    """
    votes = pd.crosstab(labels["item"], any_refusal(labels["label"]))
    most = votes.max(axis=1)
    return votes[(most >= 2) & votes.eq(most, axis=0).sum(axis=1).eq(1)].idxmax(axis=1)


def corrected_rates(trials: pd.DataFrame, by: list[str], sample: pd.DataFrame) -> pd.DataFrame:
    """Rates of refusal, corrected (:func:`corrected_rate`) in the groups that people labelled.

    A group is corrected if ``sample`` (:attr:`aor_lib.study.Study.people`) was drawn from all of
    its judged answers, and people settled on a label of each drawn one. Other groups, and trials
    without ``trial_key``, are as judged.

    Returns
    -------
    As :func:`aor_lib.analysis.stats.intervals.rates`, with ``as_judged`` (the rate before the
    correction) and ``labelled``, the number of labels (0: as judged).
    """
    table = rates(trials, by)
    table = table.assign(as_judged=table["rate"], labelled=0)
    if sample.empty or "trial_key" not in trials:
        return table
    known = sample[["model", "trial_key", "probability", "drawn", "people"]]
    judged = trials[is_judged(trials)].merge(known, on=["model", "trial_key"], how="left")
    for group, rows in judged.groupby(by, observed=True):
        refused = rows["label"].isin(REFUSALS).to_numpy()
        drawn, labels = rows["drawn"].eq(True), {"refusal": 1.0, "full_compliance": 0.0}
        seen = rows["people"].map(labels).where(drawn).to_numpy().astype(np.float64)
        is_open = rows["probability"].isna() | (drawn & rows["people"].isna())
        if is_open.any() or set(refused) != set(refused[~np.isnan(seen)]):
            continue
        utterance = pd.factorize(rows["utterance_id"])[0]
        found = corrected_rate(refused, seen, rows["probability"].to_numpy(), utterance)
        of_group = table[by].eq([*group]).all(axis=1)
        columns = ["rate", "low", "high", "labelled"]
        table.loc[of_group, columns] = *found, (~np.isnan(seen)).sum()
    return table


def corrected_rate(
    judged: npt.NDArray[np.bool_],
    people: Floats,
    probability: Floats,
    utterance: npt.NDArray[np.intp],
) -> tuple[float, float, float]:
    """Rate of refusal, and the limits of its 95 % interval.

    The rate is the sum, over the judge's two labels, of their share times P(refusal | label), which
    people's labels estimate. The interval comes from draws of each share, from
    Beta(k + 1/2, n - k + 1/2), where n is the effective number of answers.

    Parameters
    ----------
    judged, people
        ``(answers,)``: does the judge call it a refusal; do people (1 or 0, NaN without a label)?
    probability, utterance
        ``(answers,)``: probability to be drawn for labels; number of the utterance, from 0.
    """
    rng, labelled = np.random.default_rng(0), ~np.isnan(people)
    share = _share(judged, np.ones(len(judged)), utterance, rng)
    of_refusals, of_compliance = (
        _share(people[of_label], 1 / probability[of_label], utterance[of_label], rng)
        for of_label in (labelled & judged, labelled & ~judged)
    )
    rate, *draws = share * of_refusals + (1 - share) * of_compliance
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(rate), float(min(low, rate)), float(max(high, rate))


def _share(
    hits: npt.NDArray[Any], weights: Floats, of: npt.NDArray[np.intp], rng: np.random.Generator
) -> Floats:
    """The weighted share of hits, then draws of it; ``of`` is the utterance of each."""
    if not len(hits):
        return np.append(0.0, rng.beta(0.5, 0.5, DRAWS))
    share, sizes = np.average(hits, weights=weights), np.bincount(of).astype(float)
    # Weights are unequal (Kish, 1965) in one label of the judge where it has several strata.
    size = weights.mean() ** 2 / (weights**2).mean()
    refused = np.bincount(of, weights=hits).astype(float)
    size *= effective_answers(refused[sizes > 0], sizes[sizes > 0])
    return np.append(share, rng.beta(share * size + 0.5, (1 - share) * size + 0.5, DRAWS))
