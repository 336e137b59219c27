import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis import stats


@pytest.fixture
def by_model(answers):
    """Make models that refuse the first so many of twelve utterances."""

    def make(**refused):
        return pd.concat([answers(n, 12, model=model) for model, n in refused.items()])

    return make


def test_the_test_of_two_models_is_mcnemars(by_model):
    # Five utterances differ, all one way: one-sided in the variance is two-sided in the difference.
    assert stats.models_differ(by_model(a=2, b=7)) == pytest.approx(2 / 2**5)


def test_only_utterances_that_every_model_was_judged_on_are_compared(by_model, answers):
    beside = answers(0, 30, model="a").assign(utterance_id=lambda rows: "x" + rows["utterance_id"])
    both = by_model(a=6, b=6)
    assert stats.models_differ(pd.concat([both, beside])) == 1


@pytest.mark.parametrize(
    ("scenario", "told"), [([0] * 6 + [1] * 6, True), ([0, 1] * 6, False)], ids=["apart", "mixed"]
)
def test_groups_are_told_apart_where_refusals_go_with_them(by_model, scenario, told):
    trials = by_model(a=6).assign(scenario=scenario)
    assert (stats.groups_differ(trials, "scenario")["a"] < 0.05) == told


def test_several_answers_to_an_utterance_count_once(by_model):
    trials = by_model(a=6).assign(scenario=[0] * 4 + [1] * 4 + [0] * 4)
    once = stats.groups_differ(trials, "scenario")
    pd.testing.assert_series_equal(stats.groups_differ(pd.concat([trials] * 4), "scenario"), once)


def test_a_group_of_one_utterance_is_left_out(by_model):
    trials = by_model(a=6).assign(scenario=[0] * 6 + [1] * 6)
    alone = trials.head(1).assign(utterance_id="alone", scenario=2)
    beside = stats.groups_differ(pd.concat([trials, alone]), "scenario")
    pd.testing.assert_series_equal(beside, stats.groups_differ(trials, "scenario"))


def test_nothing_is_tested_where_there_is_one_group_or_one_model(by_model):
    trials = by_model(a=6).assign(scenario="kitchen")
    assert np.isnan(stats.models_differ(trials))
    assert stats.groups_differ(trials, "scenario").isna().all()
