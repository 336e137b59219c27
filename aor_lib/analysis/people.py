"""Refusal rates, corrected for the judge's errors by people's labels of a random sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aor_lib.analysis.agreement import any_refusal
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.stats.intervals import CONFIDENCE, DRAWS, Floats, effective_answers

FOLDER, SAMPLE = "labels", "sample.csv"
"""Folder of a study with people's labels (``answers-NAME.csv``), and the sample drawn for them."""
COLUMNS = ["trial_key", "model", "condition", "intent", "item", "probability", "drawn"]


def settled(labels: pd.DataFrame) -> pd.Series[Any]:
    """Label of each item on which at least two annotators, and more than on any other, agree.

    ``labels`` has the columns ``annotator``, ``item`` and ``label``; refusals, partial and full,
    become ``refusal``.
    """
    votes = pd.crosstab(labels["item"], any_refusal(labels["label"]))
    most = votes.max(axis=1)
    return votes[(most >= 2) & votes.eq(most, axis=0).sum(axis=1).eq(1)].idxmax(axis=1)


def load_sample(build: Path) -> pd.DataFrame:
    """Read the sample of a study: ``trial_key``, ``item``, ``probability``, ``drawn``, ``people``.

    ``people`` is the label that they settled on; it is missing where there is none yet.
    """
    if not (build / FOLDER / SAMPLE).is_file():
        return pd.DataFrame(columns=[*COLUMNS, "people"])
    files = sorted((build / FOLDER).glob("answers-*.csv"))
    none = pd.DataFrame(columns=["annotator", "item", "label"], dtype=str)
    labels = pd.concat([none, *(pd.read_csv(path, dtype=str) for path in files)])
    told = settled(labels.drop_duplicates(["annotator", "item"], keep="last"))
    sample = pd.read_csv(build / FOLDER / SAMPLE)
    return sample.assign(people=sample["item"].map(told))


def corrected(
    rates: pd.DataFrame, trials: pd.DataFrame, by: list[str], sample: pd.DataFrame
) -> pd.DataFrame:
    """Correct the rates of the groups that people labelled; others stay as judged.

    A group is corrected if the sample was drawn from all of its judged answers, and people settled
    on a label of each drawn one; trials without ``trial_key`` are as judged. The rate is the sum,
    over the judge's two labels (refusal and compliance), of their share times P(refusal | label),
    which people's labels estimate. Its interval comes from draws of both, each from
    Beta(k + 1/2, n - k + 1/2).

    Parameters
    ----------
    rates
        As of :func:`aor_lib.analysis.stats.rates` of ``trials`` by ``by``. Gets the columns
        ``as_judged`` (the rate before), and ``labelled``, the number of labels (0: as judged).
    sample
        As of :func:`load_sample`.
    """
    rates = rates.assign(as_judged=rates["rate"], labelled=0)
    if sample.empty or "trial_key" not in trials:
        return rates
    known = sample[["trial_key", "probability", "drawn", "people"]]
    judged = trials[is_judged(trials)].merge(known, on="trial_key", how="left")
    judged["refused"] = judged["label"].isin(REFUSALS)
    for group, rows in judged.groupby(by, observed=True):
        drawn = rows[rows["drawn"].eq(True)]
        told = drawn[drawn["people"].isin(["refusal", "full_compliance"])]
        is_open = rows["probability"].isna().any() or drawn["people"].isna().any()
        if is_open or set(rows["refused"]) != set(told["refused"]):
            continue
        rng = np.random.default_rng(0)
        share = _share(rows["refused"], rows.assign(probability=1.0), rng)
        of_refusals, of_compliance = (
            _share(of_label["people"].eq("refusal"), of_label, rng)
            for of_label in (told[told["refused"]], told[~told["refused"]])
        )
        rate, *draws = share * of_refusals + (1 - share) * of_compliance
        low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        of_group = rates[by].eq([*group]).all(axis=1)
        found = rate, min(low, rate), max(high, rate), len(told)
        rates.loc[of_group, ["rate", "low", "high", "labelled"]] = found
    return rates


def _share(hits: pd.Series[bool], rows: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """The share of hits, weighted by 1 over their probability to be drawn, then draws of it."""
    weights = 1 / rows["probability"]
    share = np.average(hits, weights=weights) if len(rows) else 0.0
    by_utterance = hits.groupby(rows["utterance_id"]).agg(["sum", "size"]).to_numpy(float)
    # Weights are unequal (Kish, 1965) in one label of the judge where it has several strata.
    size = weights.mean() ** 2 / (weights**2).mean() if len(rows) else 0.0
    size *= effective_answers(by_utterance[:, 0], by_utterance[:, 1])
    return np.append(share, rng.beta(share * size + 0.5, (1 - share) * size + 0.5, DRAWS))
