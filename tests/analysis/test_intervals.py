import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis.selections import SplitError
from aor_lib.analysis.stats import detection, intervals, paired
from tests.analysis.frames import answers, trials


def test_wilson_reproduces_a_published_example():
    # Newcombe (1998), Statistics in Medicine 17, table I: 81 of 263, and 0 of 20.
    assert intervals.wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert intervals.wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


@pytest.mark.parametrize(
    ("refused", "sizes", "answers"),
    [
        ([5, 0, 0, 5], [5] * 4, 3),  # copies of an answer count once
        ([1, 0, 1], [1] * 3, 3),
        ([1] * 6, [2] * 6, 12),  # clusters that are all alike leave nothing to correct
    ],
)
def test_clustered_answers_count_as_fewer_independent_ones(refused, sizes, answers):
    found = intervals.effective_answers(np.array(refused, float), np.array(sizes, float))
    assert found == pytest.approx(answers)


def rate(frame):
    return intervals.rates(frame, ["model"]).iloc[0]


def test_failures_and_unjudged_answers_are_counted_and_in_bounds_of_a_rate_alone():
    kinds = [("failed", None), ("ok", "unjudged"), ("missing", None), ("blocked", "unjudged")]
    unjudged = trials([(f"u{n}", *kind) for n, kind in enumerate(kinds)])
    assert np.isnan(rate(unjudged)[["rate", "low", "high"]].astype(float)).all()
    row = rate(pd.concat([unjudged, trials([("a", "ok", "full_refusal")])]))
    assert (row["trials"], row["judged"], row["rate"]) == (5, 1, 1.0)
    assert (row["failed"], row["blocked"], row["unjudged"]) == (2, 1, 1)
    assert (row["lowest"], row["highest"]) == (0.2, 1.0)


@pytest.mark.parametrize(
    "report",
    [
        lambda frame: intervals.rates(frame, ["model"]),
        lambda frame: paired.paired_differences(frame, "condition", "benign_scene", ["model"]),
        lambda frame: detection.signal_detection(frame, ["model"]),
    ],
)
def test_an_utterance_that_was_fitted_on_is_not_reported(report):
    frame = answers(1, 2, condition="benign_scene", split="test", fitted_on=None)
    report(frame)
    report(frame.assign(fitted_on='["x"]'))
    with pytest.raises(SplitError, match="'1' was fitted on"):
        report(frame.assign(fitted_on='["x", "1"]'))
    with pytest.raises(SplitError, match="'0' is not of the 'test' split"):
        report(frame.assign(fitted_on='["x"]', split="dev"))
