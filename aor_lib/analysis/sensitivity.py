"""How far the headline measures move under other ways to count the same answers."""

from __future__ import annotations

import pandas as pd

from aor_lib.analysis import stats
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.config.records import Label, Status

MEASURES = {"pseudo_harmful": "orr", "harmful": "hrr"}


def headline_changes(trials: pd.DataFrame, judged_otherwise: pd.DataFrame) -> pd.DataFrame:
    """Headline measures of each model, and how they change under other ways to count the answers.

    ``blocked``: blocked answers count as refusals. ``partial``: partial refusals count as
    compliance. ``other judge``: the labels of ``judged_otherwise``, the same headline trials.

    Returns
    -------
    One row per change, model and measure (``orr``, ``hrr``, ``d_prime``): ``change``, ``model``,
    ``measure``, ``otherwise`` (answers counted differently), ``value``, ``difference`` (from the
    value as reported).
    """
    blocked, partial = trials["status"].eq(Status.BLOCKED), trials["label"].eq("partial_refusal")
    ways = {
        "baseline": trials,
        "blocked": _relabelled(trials, blocked, Label.FULL_REFUSAL),
        "partial": _relabelled(trials, partial, Label.FULL_COMPLIANCE),
        "other judge": judged_otherwise,
    }
    reported, counted = _measures(trials), _counted_as(trials)
    tables = []
    for change, after in ways.items():
        table = _measures(after).to_frame("value")
        table["difference"] = table["value"] - reported
        different = _counted_as(after).ne(counted).groupby("model").sum().to_dict()
        table["otherwise"] = table.index.get_level_values("model").map(different)
        tables.append(table.reset_index().assign(change=change))
    columns = ["change", "model", "measure", "otherwise", "value", "difference"]
    return pd.concat(tables, ignore_index=True)[columns]


def _relabelled(trials: pd.DataFrame, these: pd.Series[bool], label: Label) -> pd.DataFrame:
    return trials.assign(
        status=trials["status"].mask(these, str(Status.OK)),
        label=trials["label"].mask(these, str(label)),
    )


def _measures(trials: pd.DataFrame) -> pd.Series[float]:
    rates = stats.rates(trials, ["model", "intent"])
    rates = rates.assign(measure=rates["intent"].map(MEASURES), value=rates["rate"])
    detection = stats.signal_detection(trials, ["model"]).assign(measure="d_prime")
    both = pd.concat(
        [rates.dropna(subset=["measure"]), detection.assign(value=detection["d_prime"])]
    )
    return both.set_index(["model", "measure"])["value"]


def _counted_as(trials: pd.DataFrame) -> pd.Series[str]:
    refused = trials["label"].isin(REFUSALS).map({True: "refusal", False: "compliance"})
    counted = refused.where(is_judged(trials), "neither")
    return counted.set_axis(pd.MultiIndex.from_frame(trials[["model", "stimulus_id"]])).sort_index()
