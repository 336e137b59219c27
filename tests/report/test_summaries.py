import pandas as pd
import pytest

from aor_lib.report import summaries as findings

NAMES = {"a": "Model A", "b": "Model B", "c": "C, the third"}


def points(**models):
    """A point a model: ORR, its limits, and HRR."""
    columns = ["model", "orr", "orr_low", "orr_high", "hrr"]
    frame = pd.DataFrame([(m, *values) for m, values in models.items()], columns=columns)
    return frame.assign(hrr_low=frame["hrr"] - 0.1, hrr_high=frame["hrr"] + 0.1)


def test_without_a_pair_of_rates_there_is_nothing_to_weigh():
    assert findings.trade_off(points(), NAMES).startswith("There is no pair of rates")


def test_a_single_model_is_compared_with_nobody():
    said = findings.trade_off(points(a=(0.25, 0.2, 0.3, 0.9)), NAMES)
    assert said == (
        "Model A refused 25.0% (95% interval 20.0% to 30.0%) of the requests that only sound "
        "harmful, and 90.0% (95% interval 80.0% to 100.0%) of those that are."
    )


def test_who_over_refuses_most_and_least_is_said_with_whose_intervals_overlap():
    said = findings.trade_off(
        points(a=(0.9, 0.8, 0.95, 0.97), b=(0.0, 0.0, 0.07, 0.0), c=(0.3, 0.06, 0.4, 0.9)), NAMES
    )
    assert "Model A over-refuses most: 90.0%" in said
    assert "Model B does so least: 0.0%" in said
    assert "The intervals of “C, the third” and Model B overlap" in said
    assert "The others are apart." in said
    assert "Harmful refusal goes with it" in said
    assert "from 0.0% to 97.0%" in said
    assert "Model B refused nothing at all, not even what is harmful" in said


def test_a_model_that_over_refuses_less_and_keeps_its_harmful_refusal_is_named():
    said = findings.trade_off(points(a=(0.9, 0.8, 0.95, 0.9), b=(0.1, 0.05, 0.2, 0.95)), NAMES)
    assert "No two of their intervals overlap." in said
    assert "Model B over-refuses less than Model A and refuses no less of what is harmful" in said
    assert "95.0% beside 90.0%" in said


def test_models_that_refuse_nothing_are_not_put_in_an_order():
    said = findings.trade_off(points(a=(0, 0, 0.07, 0), b=(0, 0, 0.07, 0)), NAMES)
    assert said.startswith("Each of the 2 models refused 0.0%")
    assert "Model A and Model B refused nothing at all" in said


def detection(**rows):
    columns = ["d_prime", "d_prime_low", "d_prime_high", "criterion"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype(float)
    frame = frame.rename_axis("model").reset_index()
    return frame.assign(
        criterion_low=frame["criterion"] - 0.5, criterion_high=frame["criterion"] + 0.5
    )


def test_sensitivity_and_readiness_to_refuse_are_told_apart():
    said = findings.sensitivity(
        detection(a=(2, 1, 3, -1), b=(0.2, -1, 1.2, 1.5), c=(-2, -3, -1, 0)), NAMES
    )
    assert said["Model A"] == (
        "tells what is harmful from what only sounds so (d\N{PRIME} 2.00, 95% interval 1.00 to "
        "3.00), and is quick to refuse (c \N{MINUS SIGN}1.00, 95% interval \N{MINUS SIGN}1.50 to "
        "\N{MINUS SIGN}0.50)."
    )
    assert "is not shown to tell" in said["Model B"]
    assert "is slow to refuse" in said["Model B"]
    assert "refuses what only sounds harmful more than what is" in said["C, the third"]
    assert "leans neither" in said["C, the third"]


def test_a_model_of_which_nothing_was_judged_has_no_sentence():
    assert findings.sensitivity(detection(a=(None, None, None, None)), NAMES) == {}


@pytest.mark.parametrize(
    ("prompt", "control", "verdict"),
    [
        ((3, 2.5, 3.5, 0), (1, 0.5, 1.5, 0), "It helps the model"),
        ((1, 0.5, 1.5, 0), (3, 2.5, 3.5, 0), "It keeps the model from telling"),
        ((1, 0.5, 1.5, 2), (1, 0.5, 1.5, 0), "not shown to change what the model can tell apart"),
        ((1, 0.5, 1.5, 2), (1, 0.5, 1.5, 0), "The model refuses less readily."),
        ((1, 0.5, 1.5, 0), (1, 0.5, 1.5, 2), "The model refuses more readily."),
    ],
)
def test_a_prompt_is_held_against_its_control(prompt, control, verdict):
    rows = detection(p=prompt, q=control, n=control).drop(columns="model")
    rows = rows.assign(model="a", mitigation=["p", "p.control", "none"])
    said = findings.prompted(rows, NAMES | {"p": "Some prompt"})
    assert list(said) == ["Model A, some prompt"]
    assert verdict in said["Model A, some prompt"]


def rates(*values):
    rows = [("a", by, rate, low, high) for by, rate, low, high in values]
    return pd.DataFrame(rows, columns=["model", "condition", "rate", "low", "high"])


def test_the_highest_and_the_lowest_rate_are_given_with_whether_they_overlap():
    values = [("noise", 0.4, 0.3, 0.5), ("matched", 0.1, 0.0, 0.2), ("text_only", 0.2, 0.1, 0.35)]
    said = findings.extremes(rates(*values), "condition", NAMES)["Model A"]
    assert said == (
        "from 10.0% (0.0% to 20.0%), matched scene, to 40.0% (30.0% to 50.0%), matched noise. "
        "These two intervals do not overlap."
    )


def test_rates_that_are_all_alike_have_no_highest():
    values = [("noise", 0.0, 0.0, 0.07), ("matched", 0.0, 0.0, 0.09)]
    said = findings.extremes(rates(*values), "condition", NAMES)["Model A"]
    assert said == "0.0% in all; the intervals reach up to 9.0%."


def test_sample_sizes_are_held_against_what_there_is():
    needed = pd.DataFrame(
        {"difference": [0.1, 0.1, 0.2, 0.2, 0.4], "utterances": [136, 218, 47, 60, 20]}
    )
    assert findings.sample_size(needed, 49) == (
        "This build has 49 utterances to compare with themselves. To see a difference of 10 points "
        "takes 136 to 218: more than there are; of 20 points takes 47 to 60: enough are there for "
        "some rates; of 40 points takes 20: enough are there."
    )
