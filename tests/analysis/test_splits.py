import pandas as pd
import pytest

from aor_lib.analysis.splits import SplitError, for_fitting
from aor_lib.config.params import load_scenarios

ROWS = pd.DataFrame({"utterance_id": ["a", "a", "b"], "split": ["dev", "dev", "test"]})


def test_a_fit_on_dev_remembers_its_utterances():
    rows, seen = for_fitting(ROWS)
    assert rows["utterance_id"].tolist() == ["a", "a"]
    assert seen == {"a"}


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
