"""Results of tests in sentences: verdicts follow the tests."""

import numpy as np
import pandas as pd
import pytest

from aor_lib.report import instrument, summaries
from tests.report.conftest import rates_of

NAMES = {"a": "Model A", "b": "Model B"}


def differences(**levels):
    """Paired differences of one model; those with a number are told from zero."""
    outcomes = {None: (0.05, -0.1, 0.2, 1.0), "few": (1.0, 0.4, 1.0, np.nan)}
    rows = [
        ("a", level, "benign_scene", 10, *outcomes.get(value, (value, value, value, 0.001)))
        for level, value in levels.items()
    ]
    keys, estimates = ["model", "level", "baseline"], ["difference", "low", "high", "p_holm"]
    return pd.DataFrame(rows, columns=[*keys, "trials", *estimates])


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ({"speech_only": 0.5, "neutral_scene": 0.4, "noise": 0.3}, "uses the scene: "),
        ({"speech_only": 0.5, "neutral_scene": 0.4, "noise": None}, "cannot be said to use"),
        ({"speech_only": 0.5, "neutral_scene": None, "noise": None}, "may do as well"),
        ({"speech_only": -0.5, "neutral_scene": None}, "refuses less elsewhere"),
        ({"speech_only": None, "noise": None}, "shows no use of the scene"),
        ({"speech_only": "few", "noise": "few"}, "too few utterances"),
        ({}, "nothing to show"),
    ],
)
def test_only_a_model_that_refuses_more_in_all_other_sounds_uses_the_scene(levels, verdict):
    assert verdict in summaries.scene_use(differences(**levels), NAMES).markdown.replace("\\", "")


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"noise": -0.3, "text_only": None}, ["1 of 2", "Model A, Spectrum-matched noise", "30.0"]),
        ({"noise": None, "text_only": None}, ["0 of 2", "+20.0 points"]),
        ({"noise": "few", "text_only": None}, ["1 of 2", "cannot tell", "0 of 1"]),
        ({}, ["nothing to show"]),
    ],
)
def test_differences_that_are_told_from_zero_are_named_beside_the_reach_of_others(levels, words):
    said = summaries.told_from_zero(differences(**levels), NAMES).markdown.replace("\\", "")
    assert all(word in said for word in words)


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ({}, ["no pair of rates"]),
        ({"a": (0.2, 0.85), "b": (0.9, 0.95)}, ["A refused 20.0%", "85.0%", "B refused 90.0%"]),
    ],
)
def test_the_finding_gives_both_rates_of_every_model(models, words):
    finding = summaries.finding(rates_of(models), pd.DataFrame(), NAMES)
    assert all(word in finding for word in words)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["recovered", "silent", "silent", "unexpected"], ["1 of 1", "1 of 3", "same: Model A, "]),
        (["not recovered", "silent", "too few"], ["0 of 1", "not: Model A, ", "1 comparisons"]),
        (["too few"], ["cannot tell", "all 1 comparisons"]),
    ],
)
def test_known_effects_and_unexpected_ones_are_counted_and_the_wrong_ones_named(verdicts, words):
    measured = pd.DataFrame({"verdict": verdicts, "known_effect": "nothing"})
    measured = measured.assign(model="a", comparison="noise \N{MINUS SIGN} speech_only")
    measured.loc[0, "known_effect"] = "less"
    said = summaries.known_effects(measured, NAMES).markdown.replace("\\", "")
    assert all(word in said for word in words)


def test_reference_models_alone_are_a_check_of_the_instrument_and_no_finding():
    known = rates_of({"ref-contextual": (0.2, 0.9), "ref-wordbound": (0.9, 0.9)})
    measured = pd.DataFrame({"verdict": ["recovered"], "known_effect": ["less"]})
    finding = summaries.finding(known, measured, NAMES)
    assert "checks the instrument" in finding
    assert "1 of 1 known effects" in finding
    assert "refused" not in finding
    title = instrument.title_for(known, "Refusal rates")
    assert title == instrument.title_for(known, title) == "Instrument check: refusal rates"
    beside = pd.concat([known, rates_of({"a": (0.5, 0.9)})])
    assert instrument.title_for(beside, "Refusal rates") == "Refusal rates"


@pytest.mark.parametrize(
    ("plain", "thought", "words"),
    [
        (2, 0, ["the 2 utterances", "out of 5"]),
        (5, 2, ["the 5 utterances", "the results rest, too", "A thought (2)"]),
    ],
)
def test_a_chapter_or_a_mitigation_on_fewer_utterances_says_so(plain, thought, words):
    headline = pd.DataFrame({"utterance_id": list("abcde"), "intent": "pseudo_harmful"})
    thoughts = headline.head(thought).assign(mitigation="a_thought")
    trials = pd.concat([headline.head(plain).assign(mitigation="none"), thoughts])
    said = summaries.asked_on(trials, headline, "mitigation", {"a_thought": "A thought"}).markdown
    assert all(word in said.replace("\\", "") for word in words)
