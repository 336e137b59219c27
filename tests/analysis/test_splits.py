import pandas as pd
import pytest

from aor_lib.analysis.splits import SplitError, for_fitting, for_scoring
from aor_lib.config.params import load_scenarios

ROWS = pd.DataFrame(
    {
        "utterance_id": ["a", "a", "b", "c"],
        "split": ["dev", "dev", "test", "dev"],
        "label": ["x", "y", "z", "x"],
    }
)


def test_only_dev_is_fitted_on_and_what_was_seen_is_remembered():
    rows, seen = for_fitting(ROWS)
    assert rows["utterance_id"].tolist() == ["a", "a", "c"]
    assert seen == {"a", "c"}


def test_test_may_be_scored_with_what_was_fitted_on_dev():
    _, seen = for_fitting(ROWS)
    test = ROWS[ROWS["split"] == "test"]
    pd.testing.assert_frame_equal(for_scoring(test, seen), test)


def test_what_was_fitted_on_is_not_scored():
    with pytest.raises(SplitError, match=r"'a' was fitted on \(2 such\)"):
        for_scoring(ROWS, for_fitting(ROWS)[1])


def test_dev_is_not_reported_even_where_this_fit_did_not_see_it():
    with pytest.raises(SplitError, match="'c' is not of the 'test' split"):
        for_scoring(ROWS[ROWS["utterance_id"] != "a"], {"a"})


def test_everything_is_scored_where_nothing_was_fitted():
    assert len(for_scoring(ROWS, ())) == len(ROWS)


def test_there_must_be_something_to_fit_on():
    with pytest.raises(SplitError, match="nothing to fit on"):
        for_fitting(ROWS[ROWS["split"] == "test"])


def test_every_scenario_has_utterances_of_each_kind_in_both_splits():
    kinds = {
        (name, utterance.intent, utterance.split)
        for name, scenario in load_scenarios().items()
        for utterance in scenario.utterances
    }
    assert len(kinds) == 6 * 3 * 2
