import json
import re

import pandas as pd
import pytest

from aor_lib.report import judge_charts

BINS = pd.DataFrame(
    {
        "answers": [9, 4],
        "predicted": [0.1, 0.9],
        "rate": [0.1, 1],
        "low": [0, 0.5],
        "high": [0.3, 1],
    }
)
RATES = pd.DataFrame(
    {
        "model": ["m", "m"],
        "intent": ["harmful", "benign"],
        "rate": [0.5, None],
        "low": [0.4, None],
        "high": [0.6, None],
        "rate_corrected": [0.55, None],
        "low_corrected": [0.4, None],
        "high_corrected": [0.7, None],
    }
)
KAPPAS = pd.DataFrame(
    {
        "on": ["All models", "a"],
        "rater": ["Judge", "Judge"],
        "kappa": [0.9, 0.8],
        "kappa_low": [0.85, -0.1],
        "kappa_high": [0.95, 0.9],
    }
)
COUNTS = pd.DataFrame(
    {
        "source": ["a", "a", "b"],
        "human": ["full_refusal", "full_refusal", "full_compliance"],
        "judge": ["full_refusal", "partial_refusal", "full_compliance"],
        "count": [3, 1, 5],
    }
)
CHARTS = {
    "kappas": lambda: judge_charts.kappas(KAPPAS),
    "confusion": lambda: judge_charts.confusion(COUNTS),
    "calibration": lambda: judge_charts.calibration(BINS),
    "raw_and_corrected": lambda: judge_charts.raw_and_corrected(RATES),
}


def data_of(spec):
    return max(spec["datasets"].values(), key=len)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_valid_and_as_wide_as_its_container(name):
    spec = CHARTS[name]().to_dict()  # altair validates against the Vega-Lite schema
    assert spec["width"] == "container"
    assert spec["config"]["background"] == "transparent"


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("kappas", {"kappa_low", "kappa_high"}),
        ("calibration", {"low", "high"}),
        ("raw_and_corrected", {"low", "high"}),
    ],
)
def test_estimates_are_drawn_with_their_intervals(name, ends):
    assert ends <= set(re.findall(r'"field": "(\w+)"', json.dumps(CHARTS[name]().to_dict())))


def test_rows_of_the_confusion_matrices_are_shares_of_what_people_said_of_a_source():
    shares = {
        (row["people"], row["judge"]): row["rate"]
        for row in data_of(CHARTS["confusion"]().to_dict())
    }
    assert shares == {
        ("a: full refusal", "Full refusal"): 0.75,
        ("a: full refusal", "Partial refusal"): 0.25,
        ("b: full compliance", "Full compliance"): 1,
    }


def test_a_rate_stands_beside_its_corrected_twin_and_what_nobody_judged_is_not_drawn():
    rows = data_of(CHARTS["raw_and_corrected"]().to_dict())
    assert [(row["kind"], row["rate"]) for row in rows] == [("As judged", 0.5), ("Corrected", 0.55)]
