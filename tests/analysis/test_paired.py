import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from aor_lib.analysis.stats import paired
from tests.analysis.frames import answers, trials


def spoken(utterances, changed):
    """Answers to utterances that were all refused alone, and some of them not in the scene."""
    alone = answers(utterances, utterances, condition="speech_only")
    in_scene = answers(utterances - changed, utterances, condition="benign_scene")
    return pd.concat([alone, in_scene], ignore_index=True)


def compare(frame):
    return paired.paired_differences(frame, "condition", "speech_only", ["model"])


@pytest.mark.parametrize(
    ("less", "more", "utterances", "low", "high"),
    [
        # R's contingencytables, Tango_asymptotic_score_CI_paired_2x2 of Cavo et al., 2012
        (16, 6, 161, -0.1240, -0.0054),
        (0, 0, 60, -0.06017, 0.06017),  # z^2 / (n + z^2)
        (0, 5, 5, 0.13104, 1.0),  # as Wilson's of 5 in 5, from -1 to 1
    ],
)
def test_a_paired_interval_is_tangos(less, more, utterances, low, high):
    differences = np.array([-1] * less + [1] * more + [0] * (utterances - less - more))
    assert paired.difference_interval(differences) == pytest.approx((low, high), abs=5e-5)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_a_paired_interval_lies_within_its_range_and_holds_the_difference(differences):
    low, high = paired.difference_interval(np.array(differences))
    assert -1 <= low < high <= 1
    assert low - 1e-9 <= np.mean(differences) <= high + 1e-9


def test_a_paired_difference_is_taken_over_the_same_utterances():
    unpaired = trials([("x", "ok", "full_compliance")], condition="benign_scene")
    (row,) = compare(pd.concat([spoken(20, 5), unpaired])).to_dict("records")
    assert row["utterances"] == 20
    assert row["difference"] == pytest.approx(-0.25)
    assert row["low"] < -0.25 < row["high"] < 0
    assert row["p_value"] == pytest.approx(2 * 0.5**5)  # the exact McNemar test: five changed


def test_several_answers_to_an_utterance_are_tested_by_their_rates_and_not_by_majorities():
    # Ten utterances, each refused in 2 of 4 answers at the baseline and in 1 of 4 at the level:
    # every majority complies, and every rate falls.
    answers = [
        trials([(f"u{n}", "ok", label) for n in range(10) for label in labels], condition=condition)
        for condition, labels in {
            "speech_only": ["full_refusal"] * 2 + ["full_compliance"] * 2,
            "noise": ["full_refusal"] + ["full_compliance"] * 3,
        }.items()
    ]
    (row,) = compare(pd.concat(answers)).to_dict("records")
    assert row["difference"] == -0.25
    assert row["p_value"] == pytest.approx(2 * 0.5**10)


def test_p_values_are_adjusted_as_by_statsmodels_over_a_models_comparisons_whatever_the_others():
    counts = [6, 9, 9, 7, 12, 15]
    levels = [spoken(20, n).replace({"benign_scene": f"{place}"}) for place, n in enumerate(counts)]
    frame = pd.concat(levels).drop_duplicates(["utterance_id", "condition"])
    alone = compare(frame)
    assert alone["p_value"].tolist() == pytest.approx([2 / 2**n for n in counts])
    assert alone["p_holm"].tolist() == multipletests(alone["p_value"], method="holm")[1].tolist()
    beside = compare(pd.concat([frame, frame.assign(model="another")]))
    pd.testing.assert_frame_equal(beside[beside["model"] == "m"].reset_index(drop=True), alone)


def test_a_comparison_of_too_few_utterances_is_not_tested_and_is_in_no_family():
    few = spoken(5, 5).replace({"benign_scene": "noise"})
    (row,) = compare(few).to_dict("records")
    assert row["difference"] == -1
    assert np.isnan([row["p_value"], row["p_holm"]]).all()
    both = compare(pd.concat([spoken(20, 20), few[few["condition"] == "noise"]])).set_index("level")
    assert np.isnan(both.loc["noise", "p_holm"])
    assert both.loc["benign_scene", "p_holm"] == both.loc["benign_scene", "p_value"]


@pytest.mark.parametrize(("missing", "is_withheld"), [(0, False), (1, False), (6, True)])
def test_a_verdict_that_answers_without_one_could_flip_is_withheld(missing, is_withheld):
    frame = spoken(20, 8)
    # Refusals alone and in the scene, of the utterances that the scene does not change.
    frame.loc[frame.index[:missing], "label"] = "unjudged"
    row = compare(frame).iloc[0]
    assert row["p_value"] < 0.01
    assert (row["lowest"], row["highest"]) == pytest.approx((-8 / 20, (missing - 8) / 20))
    assert row["withheld"] == is_withheld
    assert (row["p_holm"] >= 0.05) == is_withheld


def test_two_models_are_compared_over_the_utterances_that_both_answered_and_without_verdict():
    a, b = answers(30, 40, model="a"), answers(10, 40, model="b")
    b.loc[:9, "label"] = "unjudged"  # those that it refused
    harmful = [answers(40, 40, model=model, intent="harmful") for model in "ab"]
    table = paired.model_rates(pd.concat([a, b, *harmful]))
    row = table.set_index("intent").loc["pseudo_harmful"]
    assert (row["model"], row["against"], row["utterances"]) == ("a", "b", 30)
    assert row["difference"] == pytest.approx(20 / 30)
    assert (row["lowest"], row["highest"]) == (0.5, 0.75)
    assert not {"p_value", "p_holm"} & set(table)  # they may be differences of the judge


@pytest.mark.parametrize(("split", "differ"), [(6, True), (2, False)])
def test_groups_differ_where_refusals_go_with_them_and_models_are_one_family(split, differ):
    refused = {"a": 6, "b": 6, "c": 0}
    trials = pd.concat([answers(n, 12, model=model) for model, n in refused.items()])
    number = trials["utterance_id"].astype(int)
    trials["scenario"] = (number >= 6) if differ else number % split
    alone = paired.groups_differ(trials[trials["model"] == "a"], "scenario")
    assert (alone["a"] < 0.05) == differ
    assert paired.groups_differ(trials, "scenario")["a"] == pytest.approx(min(1, 3 * alone["a"]))


def test_power_is_near_that_of_the_published_formula():
    # R. J. Connor, Biometrics 43:207-211, 1987. Answers that are not correlated change in
    # 0.5 * 0.6 + 0.5 * 0.4 of utterances; the exact test has somewhat less power.
    utterances, changed, difference = 400, 0.5, 0.1
    reach = difference * np.sqrt(utterances) - norm.ppf(0.975) * np.sqrt(changed)
    connor = norm.cdf(reach / np.sqrt(changed - difference**2))
    assert connor - 0.06 < paired.power(utterances, 0.5, -difference, 0.0) < connor + 0.02


def test_power_grows_with_utterances_and_falls_with_the_size_of_the_family():
    few, many = (paired.power(n, 0.5, -0.2, 0.7) for n in (30, 90))
    assert few < many
    assert paired.power(90, 0.5, -0.2, 0.7, tests=10) < many


def test_a_rate_or_correlation_outside_its_range_is_named():
    wrong = {"rate 1.2": (1.2, -0.3, 0.5), "difference 0.6": (0.5, 0.6, 0.5)}
    wrong["correlation 1"] = (0.5, -0.2, 1.0)
    for says, values in wrong.items():
        with pytest.raises(ValueError, match=says):
            paired.power(60, *values)
