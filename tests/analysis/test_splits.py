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


def test_test_may_be_scored_with_a_fit_on_dev_which_remembers_its_utterances():
    rows, seen = for_fitting(ROWS)
    assert rows["utterance_id"].tolist() == ["a", "a", "c"]
    assert seen == {"a", "c"}
    test = ROWS[ROWS["split"] == "test"]
    pd.testing.assert_frame_equal(for_scoring(test, seen), test)


@pytest.mark.parametrize(
    ("rows", "fitted_on", "message"),
    [
        (ROWS, {"a", "c"}, r"'a' was fitted on \(2 such\)"),
        (ROWS[ROWS["utterance_id"] != "a"], {"a"}, "'c' is not of the 'test' split"),
    ],
)
def test_utterances_that_were_fitted_on_or_are_of_dev_are_not_scored(rows, fitted_on, message):
    with pytest.raises(SplitError, match=message):
        for_scoring(rows, fitted_on)


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
