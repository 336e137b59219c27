"""Charts of steering, and the frame that pages show."""

import json

import pandas as pd
import pytest

from aor_lib.analysis.splits import SplitError
from aor_lib.analysis.stats import rates
from aor_lib.report import steering_charts as charts
from aor_lib.steering import tables

SCAN = pd.DataFrame(
    [
        ("none", None, 0.0, None, 0.9, 0.95),
        ("probe", 3, -1.0, None, 0.5, 0.8),
        ("probe", 6, -1.0, None, 0.6, 0.9),
        ("probe", 6, -2.0, None, 0.2, 0.4),
        ("false_refusal_ablation", 3, None, 0.5, 0.7, 0.8),
        ("false_refusal_ablation", 3, None, 1.0, 0.6, 0.9),
    ],
    columns=["method", "layer", "coefficient", "lam", "orr", "hrr"],
)


def data(chart) -> list[dict]:
    return max(chart.to_dict()["datasets"].values(), key=len)


def test_the_layer_scan_shows_each_direction_once_and_both_rates():
    shown = {(row["method"], row["layer"], row["measure"]) for row in data(charts.layer_scan(SCAN))}
    assert len(shown) == 6
    assert ("Probe", 6, "Harmful refusal") in shown
    assert ("False refusal, ablated", 3, "Over-refusal") in shown


def test_a_path_begins_without_steering_and_follows_the_coefficient():
    rows = [row for row in data(charts.path(SCAN)) if row["method"] == "Probe"]
    assert [row["coefficient"] for row in sorted(rows, key=lambda row: row["order"])] == [0, -1, -2]
    assert {row["layer"] for row in rows} == {6}


def test_histograms_are_shares_of_each_intent():
    rows = [("harmful", n / 10) for n in range(10)] + [("pseudo_harmful", n / 5) for n in range(40)]
    projections = pd.DataFrame(rows, columns=["intent", "projection"])
    frame = pd.DataFrame(data(charts.histograms(projections, "Log-odds")))
    assert frame.groupby("intent")["share"].sum().round(9).eq(1).all()


def test_the_chosen_point_is_said_in_words():
    point = {
        "method": "conditional",
        "layer": 16.0,
        "coefficient": -1.5,
        "gate_layer": 12.0,
        "within": True,
    }
    assert charts.described(pd.Series(point)) == (
        "conditional (layer 16, coefficient \N{MINUS SIGN}1.5, behind a gate at layer 12)."
    )
    ablation = {"method": "false_refusal_ablation", "coefficient": None, "gate_layer": None}
    said = charts.described(pd.Series({**point, **ablation, "within": False}))
    assert said.startswith("false refusal, ablated (layer 16). No point kept")


def results(rows) -> pd.DataFrame:
    columns = ["mitigation", "utterance_id", "split"]
    same = {"model": "m", "revision": "1", "status": "ok", "label": "full_refusal"}
    frame = pd.DataFrame(rows, columns=columns).assign(**same)
    return frame.assign(stimulus_id=frame["utterance_id"])


@pytest.fixture
def build(tmp_path):
    fitted = pd.DataFrame([("m", json.dumps(["d1"]))], columns=["model", "fitted_on"])
    tables.write(tmp_path, tables.FITTED, [fitted])
    return tmp_path


def test_trials_on_test_are_compared_with_the_same_ones_without_steering(build):
    found = tables.on_test(
        build,
        results(
            [
                *(("none", name, "test") for name in ("t1", "t2")),
                ("none", "d1", "dev"),
                *(("steering_probe", "t1", "test"), ("steering_random_2", "t1", "test")),
                ("context_reminder", "t1", "test"),
            ]
        ),
    )
    kept = list(zip(found["method"], found["utterance_id"], strict=True))
    assert kept == [("none", "t1"), ("probe", "t1"), ("random", "t1")]
    assert rates(found, ["method"])["judged"].tolist() == [1, 1, 1]


def test_what_was_fitted_on_is_never_reported(build):
    rows = [("none", "d1", "dev"), ("steering_probe", "d1", "dev")]
    with pytest.raises(SplitError, match="'d1' was fitted on"):
        rates(tables.on_test(build, results(rows)), ["method"])


def test_without_steering_there_are_no_trials_and_no_rows(tmp_path):
    assert tables.on_test(tmp_path, results([("none", "t1", "test")])).empty
    for name, columns in tables.COLUMNS.items():
        assert tables.load(tmp_path, name).columns.tolist() == list(columns)
