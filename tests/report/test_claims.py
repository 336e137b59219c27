"""The words for each claim follow its tests, and which models were asked."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from aor_lib.report import claims
from aor_lib.report.claims import ABSENT, CHECK, CLAIMS

KEYS = ["model", "level", "baseline", "difference", "low", "high", "p_holm"]
DIFFERENCE = ("m", "angry", "neutral", 0.3, 0.1, 0.5)


def differences(*rows):
    return pd.DataFrame(rows, columns=KEYS)


def says(asked=(), **measured):
    """Texts of the table of claims, by the claims' ids, and its caption."""
    empty = dict.fromkeys(CLAIMS, differences())
    shown = claims.claims(empty | measured, asked, {"m": "Model <M>"})
    root = ElementTree.fromstring(shown.html)
    cells = [td.text for td in root.iter("td")][2::3]
    return dict(zip(CLAIMS, cells, strict=True)) | {"caption": root.find("summary").text}


@pytest.fixture
def rates():
    frame = pd.DataFrame({"model": ["m", "n"], "rate": [0.2, 0.6], "low": 0.1, "high": 0.7})
    return frame.assign(p_value=0.001)


def test_a_claim_whose_data_are_absent_is_not_measured():
    shown = says(steering=differences((*DIFFERENCE[:3], *[np.nan] * 4)))
    assert {shown[claim] for claim in CLAIMS} == {ABSENT}


@pytest.mark.parametrize(("asked", "scope"), [([], CHECK), (["m", "n"], "asked: 2")])
def test_the_table_counts_the_audio_language_models_or_says_that_it_is_a_check(asked, scope):
    assert says(asked)["caption"].endswith(scope)


@pytest.mark.parametrize(
    ("p_holm", "words"),
    [
        (0.001, ["1 of 1 tests: Model <M>, angry"]),
        (0.2, ["0 of 1 tests", "may be"]),
        (np.nan, ["Nothing could be tested", "may be"]),
    ],
)
def test_a_difference_is_shown_only_where_its_test_tells_it(p_holm, words):
    shown = says(emotion=differences((*DIFFERENCE, p_holm)))
    assert all(word in shown["emotion"] for word in words)


def test_scenarios_are_tested_once_for_each_model_and_models_once(rates):
    of_scenarios = pd.concat([rates.assign(scenario=name) for name in ("kitchen", "games")])
    shown = says(models=rates, scenarios=of_scenarios)
    assert "1 of 1 tests" in shown["models"]
    assert "2 of 2 tests: Model <M>; n." in shown["scenarios"]


def test_estimates_have_intervals_and_name_what_they_are_of(rates):
    measured = dict.fromkeys(CLAIMS, differences())
    measured |= {"models": rates, "emotion": differences((*DIFFERENCE, 0.001))}
    shown = claims.estimates(measured, {"m": "<M>"})
    cells = [td.text for td in ElementTree.fromstring(shown.html).iter("td")]
    assert list(zip(cells[2::4], cells[3::4], strict=True)) == [
        ("<M>", "20.0 (10.0 to 70.0)"),
        ("n", "60.0 (10.0 to 70.0)"),
        ("<M>, angry \N{MINUS SIGN} neutral", "+30.0 (+10.0 to +50.0)"),
    ]


def test_a_chart_of_changes_names_both_sides_and_the_intent():
    told, change = differences((*DIFFERENCE, 0.001)), "Angry \N{MINUS SIGN} neutral"
    measured = {"a": told, "b": told.assign(intent="harmful"), "c": told[["model"]]}
    shown = claims.changes(measured, {})["quantity"].tolist()
    assert shown == [change, f"Harmful refusal: {change}"]
