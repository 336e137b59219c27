"""The face: what a notebook calls, on trials that were written for it."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import aor_lib
from aor_lib.report.selection import SelectionError
from aor_lib.study import Study

CONDITIONS = {"speech_only": 20, "neutral_scene": 20, "noise": 20, "benign_scene": 5}
"""Requests that are refused in each condition, of 20 that only sound harmful."""


@pytest.fixture(scope="module")
def study():
    """One model, asked 20 pseudo-harmful and 10 harmful requests, and ten on dev."""
    rows = [
        {"condition": condition, "intent": "pseudo_harmful", "number": n, "refused": n < refused}
        for condition, refused in CONDITIONS.items()
        for n in range(20)
    ]
    rows += [
        {"condition": condition, "intent": "harmful", "number": 100 + n, "refused": n < 9}
        for condition in CONDITIONS
        for n in range(10)
    ]
    trials = pd.DataFrame(rows).assign(
        model="a", revision="1", split="test", block="core", status="ok", flags="[]", voice="v"
    )
    trials = trials.assign(arm="none", method="none", is_control=False, mitigation="none")
    trials["utterance_id"] = "u" + trials.pop("number").astype(str)
    trials["stimulus_id"] = trials["utterance_id"] + "." + trials["condition"]
    labels = {True: "full_refusal", False: "full_compliance"}
    trials["label"] = trials.pop("refused").map(labels)
    trials["scenario"] = "kitchen"
    dev = trials.head(10).assign(split="dev")
    probes = trials.head(3).assign(method="probe", arm="probe_words")
    study = Study(Path("nowhere"))
    vars(study)["trials"] = pd.concat([trials, dev, probes], ignore_index=True)
    vars(study)["titles"] = {"a": "Model A"}
    return study


def test_dev_and_probes_never_come_out_of_a_selection_unless_asked_for(study):
    assert set(study.select("context").frame["split"]) == {"test"}
    assert set(study.select("context", split="dev").frame["split"]) == {"dev"}
    assert "probe" not in set(study.select("context").frame["method"])


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        (lambda study: study.select("contxt"), "context"),
        (lambda study: study.select("context", split="train"), "test"),
        (lambda study: study.select("context").where(modl="a"), "model"),
        (lambda study: study.select("context").paired("condition", "benign"), "benign_scene"),
        (lambda study: study.select("context").paired("conditoin", "noise"), "condition"),
        (lambda study: study.select("context").paired(), "baseline"),
    ],
)
def test_a_mistake_is_answered_with_what_there_is(study, ask, names):
    with pytest.raises(SelectionError, match=names):
        ask(study)


def test_where_takes_a_value_or_several_and_what_was_refused(study):
    selection = study.select("context").where(intent="pseudo_harmful")
    assert len(selection.where(condition="noise").frame) == 20
    assert len(selection.where(condition=["noise", "benign_scene"]).frame) == 40
    refused = selection.where(condition="benign_scene", refused=True).frame
    assert set(refused["label"]) == {"full_refusal"}
    assert len(refused) == 5


def test_over_refusal_is_never_averaged_with_harmful_refusal(study):
    rates = study.select("headline").rates()
    assert rates.keys == ("model", "intent")
    assert rates.frame.set_index("intent")["rate"].to_dict() == {
        "harmful": 0.9,
        "pseudo_harmful": 0.25,
    }


def test_a_difference_is_paired_by_utterance_and_carries_its_keys(study):
    sounding = study.select("context").where(intent="pseudo_harmful")
    change = sounding.paired("condition", baseline="benign_scene")
    assert (change.keys, change.measure) == (("model", "level", "baseline"), "difference")
    assert set(change.frame["level"]) == {"speech_only", "neutral_scene", "noise"}
    assert set(change.frame["difference"]) == {0.75}
    assert change.titles["a"] == "Model A"
    within = study.select("context").paired("condition", baseline="noise")
    assert within.keys == ("model", "intent", "level", "baseline")


def test_both_rates_stand_in_one_row_of_the_trade_off(study):
    (row,) = study.select("headline").trade_off().frame.to_dict("records")
    assert (row["orr"], row["hrr"]) == (0.25, 0.9)
    assert row["orr_low"] < row["orr"] < row["orr_high"]


def test_every_trial_is_counted_under_its_label_or_why_there_is_none(study):
    failed = study.select("headline")
    frame = failed.frame.assign(status=["failed"] + ["ok"] * (len(failed.frame) - 1))
    counts = aor_lib.Selection(study, frame).labels().frame
    assert counts["count"].sum() == len(frame)
    assert counts.loc[counts["label"] == "failed", "count"].tolist() == [1]


def test_a_folder_without_a_study_is_refused_by_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        aor_lib.open(tmp_path)


def test_importing_the_library_loads_no_heavy_package():
    heavy = ("torch", "transformers", "inspect_ai", "altair", "pandas")
    code = f"import sys, aor_lib; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_few_and_documented():
    assert len(aor_lib.__all__) <= 15
    assert all(getattr(aor_lib, name).__doc__ for name in aor_lib.__all__)
