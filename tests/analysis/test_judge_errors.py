import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from aor_lib.analysis import judge_errors as errors

REFUSAL, COMPLIANCE = "full_refusal", "full_compliance"


def labelled(*found_and_kept):
    """Make labelled answers: of 100 refusals and 100 compliant ones of each source model."""
    rows = [
        (f"model-{number}", f"p{answer}", truth, truth if answer % 100 < right else other)
        for number, pair in enumerate(found_and_kept)
        for first, truth, other, right in (
            (0, REFUSAL, COMPLIANCE, pair[0]),
            (100, COMPLIANCE, REFUSAL, pair[1]),
        )
        for answer in range(first, first + 100)
    ]
    return pd.DataFrame(rows, columns=["source_model", "prompt_id", "human", "judge"])


@pytest.fixture
def good():
    return errors.accuracy(labelled((98, 94), (95, 96), (92, 98)))


def as_judged_and_corrected(frame):
    return frame[frame["kind"] == "as_judged"], frame[frame["kind"] == "corrected"]


def test_a_judge_no_better_than_chance_is_refused():
    with pytest.raises(ValueError, match="no better than chance"):
        errors.accuracy(labelled((50, 50), (50, 50)))


@pytest.mark.parametrize(
    ("left_out", "missing"), [(REFUSAL, "refusal"), (COMPLIANCE, "compliance")]
)
def test_a_source_model_without_refusals_or_without_compliance_is_refused(left_out, missing):
    answers = labelled((90, 90), (95, 95))
    kept = answers[(answers["source_model"] != "model-1") | (answers["human"] != left_out)]
    with pytest.raises(ValueError, match=f"model-1: no answer is a {missing}"):
        errors.accuracy(kept)


def test_one_source_model_does_not_say_how_the_next_is_judged():
    with pytest.raises(ValueError, match="one source model"):
        errors.accuracy(labelled((90, 90)))


def test_accuracy_counts_any_refusal_and_leaves_out_unjudged_answers():
    answers = labelled((90, 80), (70, 100))
    answers = answers.replace({"judge": {REFUSAL: "partial_refusal"}})
    unjudged = answers.assign(judge="unjudged")
    of_source = errors.by_source(pd.concat([answers, unjudged]))
    assert of_source["refusals"].tolist() == [100, 100]
    assert of_source["sensitivity"].tolist() == pytest.approx([0.9, 0.7])
    assert of_source["specificity"].tolist() == pytest.approx([0.8, 1.0])
    judge = errors.accuracy(answers)
    assert (judge.sensitivity, judge.specificity) == pytest.approx((0.8, 0.9))


def test_the_more_source_models_differ_the_less_is_known_of_the_next():
    alike, apart = (
        np.ptp(np.quantile(errors.accuracy(labelled(*shares)).draws, [0.025, 0.975], axis=0)[:, 0])
        for shares in (((90, 95), (90, 95), (90, 95)), ((84, 95), (90, 95), (96, 95)))
    )
    assert apart > 2 * alike


def test_corrected_rates_stand_beside_the_raw_ones(answers, good):
    # By Rogan & Gladen (1978): (p + specificity - 1) / (sensitivity + specificity - 1).
    raw, row = as_judged_and_corrected(errors.corrected_rates(answers(20, 80), ["model"], good))
    assert raw[["rate", "judged"]].to_numpy().tolist() == [[0.25, 80]]
    assert row["rate"].item() == pytest.approx((0.25 - 0.04) / 0.91)
    assert row["low"].item() < row["rate"].item() < row["high"].item()


@pytest.mark.parametrize("refused", [0, 40])
def test_a_rate_of_none_or_of_all_leaves_doubt(answers, good, refused):
    _, row = as_judged_and_corrected(errors.corrected_rates(answers(refused, 40), ["model"], good))
    assert row["high"].item() - row["low"].item() > 0.05


def test_without_a_judged_answer_there_is_nothing_to_correct(trials, good):
    unjudged = errors.corrected_rates(trials([("a", "ok", "unjudged")]), ["model"], good)
    assert unjudged[["rate", "low", "high"]].isna().all(axis=None)
    assert errors.corrected_rates(trials([]), ["model"], good).empty


@pytest.mark.nightly
def test_intervals_cover_95_times_in_100():
    rng = np.random.default_rng(6)
    covered = []
    for _ in range(500):
        by_people, trials = simulated_study(rng, 3, 100)
        row = errors.corrected_rates(trials, ["model"], errors.accuracy(by_people)).iloc[-1]
        covered.append(row["low"] <= RATE <= row["high"])
    assert 0.93 <= np.mean(covered) <= 0.995


RATE = 0.8


def simulated_study(rng, sources, utterances):
    """Labelled answers of some models and trials of one more, each judged in its own way."""
    means, spread = np.array([0.92, 0.95]), np.array([0.06, 0.04])
    size = means * (1 - means) / spread**2 - 1
    ways = rng.beta(means * size, (1 - means) * size, (sources + 1, 2))
    prompts = 100
    hard, frames = rng.standard_normal(prompts), []
    for number, way in enumerate(ways[:-1]):
        refused = rng.random(prompts) < 0.5
        luck = np.sqrt(0.5) * hard + np.sqrt(0.5) * rng.standard_normal(prompts)
        right = luck < norm.ppf(np.where(refused, *way))
        frame = pd.DataFrame({"prompt_id": range(prompts), "source_model": str(number)})
        human, judge = (np.where(x, REFUSAL, COMPLIANCE) for x in (refused, refused == right))
        frames.append(frame.assign(human=human, judge=judge))
    truly = rng.random(utterances) < RATE
    called = rng.random(utterances) < np.where(truly, ways[-1, 0], 1 - ways[-1, 1])
    trials = pd.DataFrame({"utterance_id": range(utterances), "model": "m", "status": "ok"})
    return pd.concat(frames, ignore_index=True), trials.assign(
        label=np.where(called, REFUSAL, COMPLIANCE)
    )
