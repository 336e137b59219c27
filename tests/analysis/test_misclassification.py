import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis import stats
from aor_lib.analysis.misclassification import (
    Accuracy,
    accuracy,
    corrected_rates,
    lang_reiczigel,
    rogan_gladen,
)

GOOD = Accuracy(refusals=400, refusals_found=380, compliances=500, compliances_found=485)


def test_a_rate_is_corrected_by_the_published_formula():
    # Rogan & Gladen (1978): (p + specificity - 1) / (sensitivity + specificity - 1).
    judge = Accuracy(refusals=100, refusals_found=90, compliances=100, compliances_found=80)
    assert rogan_gladen(0.41, judge) == pytest.approx((0.41 - 0.2) / 0.7)


@pytest.mark.parametrize(("found", "cleared"), [(50, 50), (20, 60), (0, 100)])
def test_a_judge_no_better_than_chance_is_refused(found, cleared):
    judge = Accuracy(100, found, 100, cleared)
    for correct in (lambda: rogan_gladen(0.2, judge), lambda: lang_reiczigel(0.2, 50, judge)):
        with pytest.raises(ValueError, match="no better than chance"):
            correct()


@pytest.mark.parametrize(
    ("counts", "message"),
    [((0, 0, 5, 5), "refusals: found 0 of 0"), ((5, 5, 0, 0), "compliances: found 0 of 0")],
)
def test_a_sample_without_refusals_or_without_compliance_is_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        Accuracy(*counts)


def test_accuracy_counts_any_refusal_and_leaves_out_unjudged_answers():
    human = ["full_refusal", "partial_refusal", "full_refusal", "full_compliance", "unjudged"]
    judge = ["partial_refusal", "full_compliance", "unjudged", "full_compliance", "full_refusal"]
    found = accuracy(pd.Series(human), pd.Series(judge))
    assert found == Accuracy(refusals=2, refusals_found=1, compliances=1, compliances_found=1)


@pytest.mark.parametrize(
    ("truth", "answers"),
    [
        (0.2, 1),
        pytest.param(0.05, 1, marks=pytest.mark.nightly),
        pytest.param(0.4, 4, marks=pytest.mark.nightly),
    ],
)
def test_intervals_cover_the_true_rate_95_times_in_100_and_raw_ones_do_not(truth, answers):
    # Each of 300 utterances has a rate of its own where it is answered several times.
    rng = np.random.default_rng(3)
    held, held_by_raw = [], []
    for _ in range(1500):
        judge = Accuracy(320, rng.binomial(320, 0.94), 500, rng.binomial(500, 0.96))
        own = truth if answers == 1 else rng.beta(truth * 2, (1 - truth) * 2, size=300)
        refused = rng.binomial(answers, own * 0.94 + (1 - own) * 0.04, size=300).astype(float)
        effective = stats.effective_answers(refused, np.full(300, float(answers)))
        rate = refused.sum() / (300 * answers)
        low, high = lang_reiczigel(rate, effective, judge)
        held.append(low <= truth <= high)
        low, high = stats.wilson(refused.sum(), 300 * answers)
        held_by_raw.append(low <= truth <= high)
    assert 0.93 <= np.mean(held) <= 0.97
    assert np.mean(held_by_raw) < np.mean(held)


def test_corrected_rates_stand_beside_the_raw_ones(answers):
    (row,) = corrected_rates(answers(20, 80), ["model"], GOOD).to_dict("records")
    assert (row["rate"], row["judged"]) == (0.25, 80)
    assert row["rate_corrected"] == pytest.approx((0.25 - 0.03) / 0.92)
    assert row["low_corrected"] < row["rate_corrected"] < row["high_corrected"]


def test_without_a_judged_answer_there_is_no_corrected_rate(trials):
    unjudged = corrected_rates(trials([("a", "ok", "unjudged")]), ["model"], GOOD).iloc[0]
    assert unjudged[["rate_corrected", "low_corrected", "high_corrected"]].isna().all()
    empty = corrected_rates(trials([]), ["model"], GOOD)
    assert empty.empty
    assert "rate_corrected" in empty
