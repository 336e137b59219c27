import numpy as np
import pandas as pd
import pytest

from aor_lib.report import effect_summaries as effect_findings

NAMES = {"a": "Model A"}
WIDE = {"low": -0.1, "high": 0.2, "p_holm": 1.0}


def differences(**levels):
    """Paired differences of one model; those with a number are told from zero."""
    rows = [
        {"model": "a", "level": level, "baseline": "matched", "difference": 0.05} | WIDE
        if value is None
        else {
            **{"model": "a", "level": level, "baseline": "matched", "difference": value},
            **{"low": value - 0.1, "high": value + 0.1, "p_holm": 0.001},
        }
        for level, value in levels.items()
    ]
    return pd.DataFrame(rows)


def scene_use(refused=5, **levels):
    rates = pd.DataFrame({"model": ["a"], "refused": [refused]})
    return effect_findings.scene_use(differences(**levels), rates, NAMES)["Model A"]


def test_only_a_model_that_refuses_more_in_all_other_sounds_uses_the_scene():
    said = scene_use(speech_only=0.5, mismatched=0.4, noise=0.3)
    assert said.startswith("uses the scene: ")
    assert "heard alone +50.0 points (+40.0 to +60.0)" in said


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ({"speech_only": 0.5, "mismatched": 0.4, "noise": None}, "uses the scene in part"),
        ({"speech_only": 0.5, "mismatched": None, "noise": None}, "any sound may do"),
        ({"speech_only": 0.5}, "any sound may do"),
        ({"speech_only": -0.5, "mismatched": None}, "refuses less heard alone than in the scene"),
        ({"speech_only": None, "noise": None}, "shows no use of the scene"),
    ],
)
def test_less_than_that_is_said_as_what_it_is(levels, verdict):
    assert verdict in scene_use(**levels)


def test_no_use_of_the_scene_comes_with_what_would_go_unseen():
    assert "An effect of up to 20.0 points lies within the intervals." in scene_use(noise=None)


def test_a_model_that_never_refuses_cannot_show_any_use():
    assert scene_use(refused=0, noise=None).startswith("refused none of these requests")


def test_differences_that_are_told_from_zero_come_before_how_far_the_others_reach():
    said = effect_findings.changes(differences(noise=-0.3, text_only=None), NAMES)["Model A"]
    assert said == (
        "matched noise against matched scene \N{MINUS SIGN}30.0 points (\N{MINUS SIGN}40.0 to "
        "\N{MINUS SIGN}20.0). The other difference is not told from zero; intervals reach from "
        "\N{MINUS SIGN}10.0 points to +20.0 points."
    )
    said = effect_findings.changes(differences(noise=None, text_only=None), NAMES)["Model A"]
    assert said.startswith("none of 2 differences is told from zero")
    said = effect_findings.changes(differences(noise=None), NAMES)["Model A"]
    assert said.startswith("not told from zero: matched noise against matched scene +5.0 points")


def effects(**statuses):
    rows = [
        {"model": "a", "level": level, "baseline": "neutral", "status": status}
        for level, status in statuses.items()
    ]
    measures = ["odds_ratio", "odds_ratio_low", "odds_ratio_high", "difference", "low", "high"]
    frame = pd.DataFrame(rows).assign(p_holm=np.nan, **dict.fromkeys(measures, np.nan))
    known = frame["status"] == "estimated"
    frame.loc[known, [*measures, "p_holm"]] = [4, 2, 8, 0.3, 0.2, 0.4, 0.01]
    return frame


def test_effects_are_given_as_points_and_odds_with_what_has_no_estimate():
    said = effect_findings.effects(effects(angry="estimated", sad="separated"), NAMES)["Model A"]
    assert said == (
        "angry against neutral +30.0 points (+20.0 to +40.0), odds ratio 4 (2 to 8). "
        "Not estimated: sad (only refusals, or none, on one side)."
    )


def test_a_build_that_is_too_small_for_a_regression_says_how_many_utterances_it_takes():
    frame = effects(angry="too few utterances", sad="too few utterances")
    said = effect_findings.effects(frame, NAMES)["Model A"]
    assert said == "too few utterances: it takes more than 3 of them."


def test_a_model_that_never_refuses_has_nothing_to_estimate():
    said = effect_findings.effects(effects(angry="separated", sad="separated"), NAMES)["Model A"]
    assert said == "nothing can be estimated: only refusals, or none, on one side."
