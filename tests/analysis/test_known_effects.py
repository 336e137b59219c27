"""What a study measures of what was planted, on trials whose refusals are given."""

import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis.known_effects import (
    COMPARISONS,
    PLANTED,
    TITLES,
    measure_planted,
    utterance_differences,
    verdict,
)
from aor_lib.analysis.power_simulation import SIZES, false_alarms, recovery_by_size
from aor_lib.analysis.reference_rates import MEMBERS
from aor_lib.report import known_effect_charts as charts

CORE = {"condition": "speech_only", "emotion": "neutral", "gender": "female", "rate": "normal"}


def trials(model, refuses, cells, utterances=20, **changes):
    """Trials of a member in the cells of a design; ``refuses`` decides from cell and utterance."""
    row = {
        **{"model": model, "intent": "pseudo_harmful", "block": "core", "split": "test"},
        **{"mitigation": "none", "status": "ok", "flags": "[]"},
    }
    return pd.DataFrame(
        row
        | CORE
        | cell
        | {
            "utterance_id": f"u{number}",
            "label": "full_refusal" if refuses(CORE | cell, number) else "full_compliance",
        }
        | changes
        for number in range(utterances)
        for cell in cells
    )


SCENES = [{"condition": c} for c in ("matched", "speech_only", "mismatched", "noise")]
VOICES = [
    {"emotion": emotion, "gender": gender, "rate": rate}
    for emotion in ("neutral", "angry", "sad")
    for gender, rate in (("female", "slow"), ("male", "fast"))
]


def contextual():
    return trials("ref-contextual", lambda cell, _: cell["condition"] != "matched", SCENES)


def emotive():
    return trials(
        "ref-emotive",
        lambda cell, number: cell["emotion"] == "angry" or number % 2,
        VOICES,
        block="paralinguistics",
    )


def verdicts(results):
    rows = measure_planted(results)
    return dict(zip(rows["comparison"], rows["verdict"], strict=True))


def test_what_is_planted_is_a_comparison_of_a_member():
    assert {model for model, _ in PLANTED} <= set(MEMBERS)
    assert {comparison for _, comparison in PLANTED} <= set(TITLES)
    assert len(TITLES) == len(COMPARISONS)


def test_the_effect_of_the_scene_is_recovered_and_noise_stays_silent():
    found = verdicts(contextual())
    assert found == {"scene": "recovered", "wrong_scene": "recovered", "noise": "silent"}


def test_the_effect_of_anger_is_recovered_and_is_not_taken_for_one_of_gender_or_pace():
    # Here every angry clip is of a male voice, as it may be where there are few clips.
    cells = [cell for cell in VOICES if cell["emotion"] != "angry" or cell["gender"] == "male"]
    results = trials(
        "ref-emotive",
        lambda cell, number: cell["emotion"] == "angry" or number % 2,
        cells,
        block="paralinguistics",
    )
    assert verdicts(results) == {
        **{"anger": "recovered", "other_emotions": "silent"},
        **{"gender": "silent", "pace": "silent"},
    }


def test_a_negative_control_that_moves_is_a_false_alarm():
    results = contextual().assign(model="ref-wordbound")
    assert verdicts(results)["scene"] == "false alarm"


def test_harmful_requests_are_compared_by_themselves():
    assert set(verdicts(contextual().assign(intent="harmful"))) == {"scene_of_harmful"}


@pytest.mark.parametrize(
    "changes", [{"split": "dev"}, {"mitigation": "context_reminder"}, {"model": "another"}]
)
def test_only_plain_trials_of_members_on_the_test_split_count(changes):
    assert measure_planted(contextual().assign(**changes)).empty


@pytest.mark.parametrize(
    ("planted", "utterances", "low", "difference", "high", "said"),
    [
        ("less", 40, -0.5, -0.4, -0.3, "recovered"),
        ("less", 40, 0.3, 0.4, 0.5, "reversed"),
        ("more", 40, 0.3, 0.4, 0.5, "recovered"),
        ("more", 40, -0.1, 0.2, 0.5, "not recovered"),
        ("nothing", 40, -0.1, 0.1, 0.3, "silent"),
        ("nothing", 400, 0.01, 0.03, 0.05, "small"),
        ("nothing", 400, -0.1, -0.07, -0.04, "false alarm"),
        ("more", 3, -0.1, 1.0, 1.0, "too few"),
        ("more", 0, np.nan, np.nan, np.nan, "too few"),
    ],
)
def test_a_verdict_goes_by_the_interval(planted, utterances, low, difference, high, said):
    row = {"planted": planted, "utterances": utterances, "difference": difference}
    assert verdict(pd.Series(row | {"low": low, "high": high})) == said


def test_differences_by_utterance_are_those_whose_mean_is_measured():
    results = pd.concat([contextual(), emotive()])
    means = utterance_differences(results).groupby(["model", "comparison"])["difference"].mean()
    measured = measure_planted(results).set_index(["model", "comparison"])["difference"]
    assert means.to_dict() == pytest.approx(measured.to_dict())


def test_an_unanswered_trial_is_counted_and_is_in_no_difference():
    results = contextual()
    results.loc[results.index[:4], ["status", "label"]] = ["failed", None]
    (row,) = measure_planted(results).query("comparison == 'scene'").to_dict("records")
    assert (row["trials"], row["judged"], row["failed"], row["utterances"]) == (40, 38, 2, 19)


def noisy(utterances, shift=0.0, planted="nothing"):
    """Differences of utterances that change sides by chance, and by ``shift``."""
    rng = np.random.default_rng(3)
    values = rng.choice([-1, 0, 1], utterances, p=[0.25 - shift, 0.5, 0.25 + shift])
    return pd.DataFrame(
        {
            **{"model": "ref-contextual", "comparison": "scene", "planted": planted},
            "utterance_id": [f"u{number}" for number in range(utterances)],
            "difference": values.astype(float),
        }
    )


def test_studies_without_an_effect_find_one_as_seldom_as_an_interval_promises():
    # The measured differences lean to one side; which answer came first is drawn anew.
    (row,) = false_alarms(noisy(60, shift=0.2), studies=600).to_dict("records")
    assert row["low"] <= 0.05
    assert row["rate"] < 0.08
    assert row["rate"] > 0.005


def test_larger_studies_recover_more_often():
    found = recovery_by_size(noisy(60, shift=0.2, planted="more"), studies=150)
    assert list(found["utterances"]) == list(SIZES)
    assert found["rate"].iloc[0] < 0.3
    assert found["rate"].iloc[-1] > 0.9
    assert set(found["measured"]) == {60}


def test_what_was_planted_is_no_false_alarm_and_what_was_not_is_not_recovered():
    assert false_alarms(noisy(20, planted="less")).empty
    assert recovery_by_size(noisy(20)).empty
    assert false_alarms(noisy(3)).empty


def test_the_chart_of_sizes_keeps_members_colours_and_draws_intervals():
    found = recovery_by_size(noisy(20, 0.2, "more"), studies=10)
    spec = charts.recovery(found).to_dict()  # altair validates against the Vega-Lite schema
    assert spec["width"] == "container"
    assert spec["layer"][2]["encoding"]["color"]["scale"]["range"] == ["#009E73"]
    assert {"low", "high"} <= {
        layer["encoding"][axis]["field"]
        for layer in spec["layer"]
        for axis in ("y", "y2")
        if axis in layer["encoding"]
    }
