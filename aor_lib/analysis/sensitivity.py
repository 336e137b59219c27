"""How far the headline rates and d' move under other choices than the study's own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from aor_lib.analysis import stats
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.selections import NO_MITIGATION, compared_mitigations, headline
from aor_lib.config.records import Label, Status
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import Judge, judge_responses
from aor_lib.judge.string_match import StringMatchJudge

MEASURES = {"orr": ["pseudo_harmful"], "hrr": ["harmful"], "d_prime": ["harmful", "pseudo_harmful"]}
"""Headline measures, and the intents that each is made of."""

BASELINE, BLOCKED, PARTIAL, STRINGS = "baseline", "blocked", "partial", StringMatchJudge.id
"""Changes; any other is the id of a control prompt or of another decoding, under which the same
clips were asked again."""
_ASKED_AGAIN = r"\.control$|^sampled_"


def headline_changes(build: Path | str, results: pd.DataFrame) -> pd.DataFrame:
    """Headline measures of each model as they are, and the change of each under other choices.

    Blocked answers counted as refusals (``blocked``), partial refusals as compliance (``partial``),
    the same answers judged by string matching (``string-match``), and other answers to the same
    clips, where the build has them: those under the control of a prompt, neutral words as many, and
    those that were sampled in place of greedy decoding.

    One row per change, model and measure of :data:`MEASURES`: ``change``, ``model``, ``measure``,
    ``otherwise`` (answers that are counted otherwise than before), ``value`` under the change, and
    ``difference`` from the value without it, of the same clips. NaN where nothing was judged.
    """
    trials = headline(results)
    changed = {
        BASELINE: trials,
        BLOCKED: _relabelled(trials, trials["status"].eq(Status.BLOCKED), Label.FULL_REFUSAL),
        PARTIAL: _relabelled(
            trials, trials["label"].eq(Label.PARTIAL_REFUSAL), Label.FULL_COMPLIANCE
        ),
        STRINGS: judged_by(StringMatchJudge(), build, trials),
    }
    tables = [_compare(trials, after).assign(change=name) for name, after in changed.items()]
    arms = results["mitigation"]
    for arm in sorted(arms[arms.str.contains(_ASKED_AGAIN)].unique()):
        compared = compared_mitigations(results, [arm])
        under_none = compared["mitigation"] == NO_MITIGATION
        table = _compare(compared[under_none], compared[~under_none])
        tables.append(table.assign(change=arm))
    columns = ["change", "model", "measure", "otherwise", "value", "difference"]
    return pd.concat(tables, ignore_index=True)[columns]


def judged_by(judge: Judge, build: Path | str, trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with the labels that another judge gives to the same stored answers."""
    asked = dict(zip(trials["trial_key"], trials["text"], strict=True))
    with Store(Path(build) / STORE) as store:
        responses = [response for response, _ in store.answers() if response.trial_key in asked]
    verdicts = judge_responses(responses, judge, [asked[one.trial_key] for one in responses])
    labels = {verdict.trial_key: str(verdict.label) for verdict in verdicts}
    return trials.assign(label=trials["trial_key"].map(labels))


def _relabelled(trials: pd.DataFrame, these: pd.Series[bool], label: Label) -> pd.DataFrame:
    """The trials, of which some count as answers with this label."""
    return trials.assign(
        status=trials["status"].mask(these, str(Status.OK)),
        label=trials["label"].mask(these, str(label)),
    )


def _compare(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    value = _measures(after)
    was, now = _counted_as(before), _counted_as(after)
    otherwise = now.ne(was.reindex(now.index)).groupby(["model", "intent"]).sum()
    value["difference"] = value["value"] - _measures(before)["value"]
    value["otherwise"] = [
        int(otherwise[model].reindex(MEASURES[measure]).sum()) for model, measure in value.index
    ]
    return value.reset_index()


def _measures(trials: pd.DataFrame) -> pd.DataFrame:
    """Value by model and measure."""
    rates = stats.rates(trials, ["model", "intent"]).rename(columns={"rate": "value"})
    rates["measure"] = rates["intent"].map({"pseudo_harmful": "orr", "harmful": "hrr"})
    detection = stats.signal_detection(trials, ["model"]).assign(measure="d_prime")
    detection = detection.rename(columns={"d_prime": "value"})
    both = pd.concat([rates.dropna(subset=["measure"]), detection])
    return both.set_index(["model", "measure"])[["value"]]


def _counted_as(trials: pd.DataFrame) -> pd.Series[str]:
    """Count each answer as a refusal, as compliance or as neither."""
    refused = trials["label"].isin(REFUSALS).map({True: "refusal", False: "compliance"})
    return (
        refused.where(is_judged(trials), "neither")
        .groupby([trials[name] for name in ("model", "intent", "stimulus_id")])
        .first()
    )
