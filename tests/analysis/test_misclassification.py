import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aor_lib.analysis import stats
from aor_lib.analysis.misclassification import (
    Accuracy,
    accuracy,
    corrected_rates,
    effective_answers,
    lang_reiczigel,
    rogan_gladen,
)

GOOD = Accuracy(refusals=400, refusals_found=380, compliances=500, compliances_found=485)
PERFECT = Accuracy(10**9, 10**9, 10**9, 10**9)


def results(labels: list[str], utterances: list[str] | None = None) -> pd.DataFrame:
    names = utterances or [str(i) for i in range(len(labels))]
    return pd.DataFrame({"utterance_id": names, "label": labels, "status": "ok", "model": "m"})


def test_a_rate_is_corrected_by_the_published_formula():
    # Rogan & Gladen (1978): (p + specificity - 1) / (sensitivity + specificity - 1).
    judge = Accuracy(refusals=100, refusals_found=90, compliances=100, compliances_found=80)
    assert rogan_gladen(0.41, judge) == pytest.approx((0.41 - 0.2) / 0.7)


def test_the_interval_is_that_of_the_published_formula():
    # Lang & Reiczigel (2014), computed by hand for 20 of 100 with 45 of 50 and 90 of 100.
    judge = Accuracy(refusals=50, refusals_found=45, compliances=100, compliances_found=90)
    n, p = 100 + 1.959964**2, (20 + 1.959964**2 / 2) / (100 + 1.959964**2)
    se, sp = 46 / 52, 91 / 102
    centre = (p + sp - 1) / (se + sp - 1)
    a, b = se * (1 - se) / 52, sp * (1 - sp) / 102
    error = np.sqrt(p * (1 - p) / n + centre**2 * a + (1 - centre) ** 2 * b) / (se + sp - 1)
    shift = 2 * 1.959964**2 * (centre * a - (1 - centre) * b)
    expected = (max(0.0, centre + shift - 1.959964 * error), centre + shift + 1.959964 * error)
    assert lang_reiczigel(0.2, 100, judge) == pytest.approx(expected, abs=1e-6)


def test_a_judge_that_never_errs_changes_nothing():
    low, high = lang_reiczigel(0.3, 200, PERFECT)
    assert rogan_gladen(0.3, PERFECT) == pytest.approx(0.3)
    assert (low, high) == pytest.approx(stats.wilson(60, 200), abs=0.005)


def test_fewer_refusals_than_false_alarms_are_none():
    assert rogan_gladen(0.01, GOOD) == 0
    assert lang_reiczigel(0.01, 300, GOOD)[0] == 0


@pytest.mark.parametrize(("found", "cleared"), [(50, 50), (20, 60), (0, 100)])
def test_a_judge_no_better_than_chance_is_refused(found, cleared):
    judge = Accuracy(100, found, 100, cleared)
    for correct in (lambda: rogan_gladen(0.2, judge), lambda: lang_reiczigel(0.2, 50, judge)):
        with pytest.raises(ValueError, match="is no better than chance; no rate can be corrected"):
            correct()


@pytest.mark.parametrize(
    ("counts", "message"),
    [((0, 0, 5, 5), "refusals: found 0 of 0"), ((5, 5, 0, 0), "compliances: found 0 of 0")],
)
def test_a_sample_without_refusals_or_without_compliance_says_so(counts, message):
    with pytest.raises(ValueError, match=message):
        Accuracy(*counts)


def test_accuracy_counts_any_refusal_and_leaves_out_what_either_has_not_judged():
    human = ["full_refusal", "partial_refusal", "full_refusal", "full_compliance", "unjudged"]
    judge = ["partial_refusal", "full_compliance", "unjudged", "full_compliance", "full_refusal"]
    found = accuracy(pd.Series(human), pd.Series(judge))
    assert found == Accuracy(refusals=2, refusals_found=1, compliances=1, compliances_found=1)


@given(
    st.integers(0, 300),
    st.integers(1, 300),
    st.integers(1, 400),
    st.integers(1, 400),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_an_interval_lies_within_0_and_1(refused, answers, refusals, compliances, found, cleared):
    judge = Accuracy(refusals, round(found * refusals), compliances, round(cleared * compliances))
    if judge.sensitivity + judge.specificity <= 1:
        return
    low, high = lang_reiczigel(min(refused, answers) / answers, answers, judge)
    assert 0 <= low <= high <= 1


@given(st.integers(0, 300), st.integers(30, 300), st.integers(60, 100), st.integers(60, 100))
def test_the_interval_holds_the_corrected_rate(refused, answers, sensitive, specific):
    judge = Accuracy(100, sensitive, 100, specific)
    rate = min(refused, answers) / answers
    low, high = lang_reiczigel(rate, answers, judge)
    assert low <= rogan_gladen(rate, judge) <= high


def test_a_handful_of_labelled_answers_leaves_everything_open():
    assert lang_reiczigel(0.5, 100, Accuracy(1, 1, 100, 1)) == (0, 1)


def coverage(draw, truth: float, studies: int = 4000) -> float:
    """Share of simulated studies whose interval holds the true rate."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(studies):
        judge = Accuracy(320, rng.binomial(320, 0.94), 500, rng.binomial(500, 0.96))
        rate, answers = draw(rng)
        low, high = lang_reiczigel(rate, answers, judge)
        held += low <= truth <= high
    return held / studies


@pytest.mark.parametrize("truth", [0.05, 0.2, 0.5, 0.9])
def test_intervals_hold_the_true_rate_95_times_in_100(truth):
    judged = truth * 0.94 + (1 - truth) * 0.04

    def draw(rng):
        return rng.binomial(300, judged) / 300, 300

    assert 0.93 <= coverage(draw, truth) <= 0.97


@pytest.mark.parametrize("truth", [0.1, 0.4])
def test_intervals_over_clusters_hold_the_true_rate_95_times_in_100(truth):
    def draw(rng):
        # Each of 150 utterances has a rate of its own and four answers.
        own = rng.beta(truth * 2, (1 - truth) * 2, size=150)
        refused = rng.binomial(4, own * 0.94 + (1 - own) * 0.04).astype(float)
        sizes = np.full(150, 4.0)
        return refused.sum() / 600, effective_answers(refused, sizes)

    assert 0.93 <= coverage(draw, truth) <= 0.97


def test_the_raw_interval_alone_misses_the_true_rate_far_more_often():
    rng = np.random.default_rng(4)
    judged = 0.05 * 0.94 + 0.95 * 0.04
    raw = [stats.wilson(int(refused), 300) for refused in rng.binomial(300, judged, size=1000)]
    assert np.mean([low <= 0.05 <= high for low, high in raw]) < 0.5


def test_copies_of_an_answer_count_once():
    assert effective_answers(np.array([5.0, 0, 0, 5]), np.full(4, 5.0)) == pytest.approx(3)
    assert effective_answers(np.zeros(4), np.full(4, 5.0)) == 4
    assert effective_answers(np.array([1.0, 0, 1]), np.ones(3)) == 3
    assert effective_answers(np.array([2.0]), np.array([5.0])) == 1
    # Clusters that are all alike within leave nothing to correct.
    assert effective_answers(np.full(6, 1.0), np.full(6, 2.0)) == 12


def test_corrected_rates_stand_beside_the_raw_ones():
    frame = results(["full_refusal"] * 20 + ["full_compliance"] * 60)
    (row,) = corrected_rates(frame, ["model"], GOOD).to_dict("records")
    assert (row["rate"], row["judged"]) == (0.25, 80)
    assert row["rate_corrected"] == pytest.approx((0.25 - 0.03) / 0.92)
    assert row["low_corrected"] < row["rate_corrected"] < row["high_corrected"]


def test_repeated_utterances_do_not_narrow_the_corrected_interval():
    labels = ["full_refusal"] * 20 + ["full_compliance"] * 60
    once = corrected_rates(results(labels), ["model"], GOOD).iloc[0]
    names = [str(i) for i in range(80)] * 5
    copied = corrected_rates(results(labels * 5, names), ["model"], GOOD).iloc[0]
    width = once["high_corrected"] - once["low_corrected"]
    assert copied["high_corrected"] - copied["low_corrected"] == pytest.approx(width, abs=0.01)


def test_where_nothing_was_judged_there_is_no_corrected_rate():
    (row,) = corrected_rates(results(["unjudged"]), ["model"], GOOD).to_dict("records")
    assert np.isnan([row["rate_corrected"], row["low_corrected"], row["high_corrected"]]).all()


def test_no_trial_gives_an_empty_table():
    table = corrected_rates(results([]), ["model"], GOOD)
    assert table.empty
    assert "rate_corrected" in table
