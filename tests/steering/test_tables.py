"""Tables of steering, and the trials that pages compare."""

import json

import pandas as pd
import pytest

from aor_lib.analysis.splits import SplitError
from aor_lib.analysis.stats import rates
from aor_lib.steering import tables


@pytest.fixture
def build(tmp_path):
    """Folder of a study whose vectors, of which a probe was chosen, were fitted on ``d1``."""
    fitted = pd.DataFrame([("m", json.dumps(["d1"]))], columns=["model", "fitted_on"])
    tables.write(tmp_path, tables.FITTED, [fitted])
    chosen = pd.DataFrame({"model": ["m"], "method": ["probe"], "chosen": [True]})
    tables.write(tmp_path, tables.POINTS, [chosen])
    return tmp_path


@pytest.fixture
def results():
    """Make results from mitigations, utterances and splits."""

    def make(*rows):
        frame = pd.DataFrame(rows, columns=["mitigation", "utterance_id", "split"])
        same = {"model": "m", "revision": "1", "status": "ok", "label": "full_refusal"}
        return frame.assign(stimulus_id=frame["utterance_id"], **same)

    return make


def test_trials_on_test_are_compared_with_the_same_ones_without_steering(build, results):
    trials = results(
        ("none", "t1", "test"),
        ("none", "t2", "test"),
        ("none", "d1", "dev"),
        ("steering_probe", "t1", "test"),
        ("steering_random_2", "t1", "test"),
        ("context_reminder", "t1", "test"),
    )
    compared = tables.on_test(build, trials)
    kept = list(zip(compared["method"], compared["utterance_id"], strict=True))
    assert kept == [("none", "t1"), ("probe", "t1"), ("random", "t1")]
    assert rates(compared, ["method"])["judged"].tolist() == [1, 1, 1]


def test_what_was_fitted_on_is_never_reported(build, results):
    trials = results(("none", "d1", "dev"), ("steering_probe", "d1", "dev"))
    with pytest.raises(SplitError, match="'d1' was fitted on"):
        rates(tables.on_test(build, trials), ["method"])


def test_without_steering_there_are_no_trials_and_no_rows(tmp_path, results):
    assert tables.on_test(tmp_path, results(("none", "t1", "test"))).empty
    for name, columns in tables.COLUMNS.items():
        assert tables.load(tmp_path, name).columns.tolist() == list(columns)


def test_steering_that_has_no_strength_is_not_shown_by_strength(build, results):
    trials = results(("none", "t1", "test"), ("steering_probe", "t1", "test"))
    assert tables.at_strengths_on_test(build, trials).empty
