import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aor_lib.report.annotation import agreement
from aor_lib.report.annotation.store import LabelStore

# K. Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), section C: nominal data,
# any number of observers, missing data; alpha is given there as 0.743. None: a missing value.
PUBLISHED = pd.DataFrame(
    {
        "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    }
)


def labels(*rows: tuple[str, str, str]) -> pd.DataFrame:
    """Labels of clips in their scene, from (listener, clip, label)."""
    frame = pd.DataFrame(rows, columns=["listener", "stimulus_sha256", "label"])
    return frame.assign(with_scene=True)


def test_alpha_is_that_of_the_published_example():
    assert agreement.krippendorff_alpha(PUBLISHED) == pytest.approx(0.743, abs=5e-4)


def test_the_interval_holds_alpha_and_repeats_with_its_seed():
    low, high = agreement.alpha_interval(PUBLISHED, seed=1)
    assert -1 < low < 0.743 < high <= 1
    assert (low, high) == agreement.alpha_interval(PUBLISHED, seed=1)
    assert (low, high) != agreement.alpha_interval(PUBLISHED, seed=2)


def test_units_with_one_rating_do_not_count():
    paired = PUBLISHED.drop(index=11)  # only one observer rated the last unit
    assert agreement.krippendorff_alpha(paired) == agreement.krippendorff_alpha(PUBLISHED)


def test_perfect_agreement_is_one_and_has_no_interval():
    same = pd.DataFrame({"a": ["x", "y", "x"], "b": ["x", "y", "x"]})
    assert agreement.krippendorff_alpha(same) == 1
    assert np.isnan(agreement.alpha_interval(same, seed=1)).all()


@pytest.mark.parametrize(
    "ratings",
    [
        pd.DataFrame(),
        pd.DataFrame({"a": ["x", "y"]}),
        pd.DataFrame({"a": ["x", None], "b": [None, "y"]}),
        pd.DataFrame({"a": ["x", "x"], "b": ["x", "x"]}),
    ],
    ids=["empty", "one listener", "no clip in common", "one label"],
)
def test_where_alpha_is_not_defined_no_number_is_given(ratings):
    assert np.isnan(agreement.krippendorff_alpha(ratings))
    assert np.isnan(agreement.alpha_interval(ratings, seed=1)).all()


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["x", "y", "z", None]), min_size=3, max_size=3),
        min_size=1,
        max_size=8,
    )
)
def test_alpha_is_one_minus_observed_over_expected_disagreement_of_pairs(rows):
    """The definition, pair by pair, on any table."""
    units = [[r for r in row if r is not None] for row in rows]
    units = [unit for unit in units if len(unit) >= 2]
    values = [r for unit in units for r in unit]
    expected = [a != b for i, a in enumerate(values) for j, b in enumerate(values) if i != j]
    alpha = agreement.krippendorff_alpha(pd.DataFrame(rows, dtype=object))
    if not any(expected):
        assert np.isnan(alpha)
        return
    observed = sum(
        (a != b) / (len(unit) - 1)
        for unit in units
        for i, a in enumerate(unit)
        for j, b in enumerate(unit)
        if i != j
    ) / len(values)
    assert alpha == pytest.approx(1 - observed / (sum(expected) / len(expected)))


def test_a_verdict_is_the_most_frequent_label_with_its_share():
    found = agreement.verdicts(
        labels(("a", "1", "benign"), ("b", "1", "benign"), ("c", "1", "harmful"))
    )
    row = found.iloc[0]
    assert (row["listeners"], row["label"]) == (3, "benign")
    assert row["share"] == pytest.approx(2 / 3)


def test_a_tie_is_said_to_be_one():
    row = agreement.verdicts(labels(("a", "1", "benign"), ("b", "1", "harmful"))).iloc[0]
    assert (row["label"], row["share"]) == ("tie", 0.5)


def test_clips_with_and_without_scene_are_apart():
    rows = labels(("a", "1", "benign"), ("b", "1", "benign"))
    both = pd.concat([rows, rows.assign(stimulus_sha256="2", with_scene=False, label="harmful")])
    found = agreement.verdicts(both).set_index("with_scene")["label"]
    assert found.to_dict() == {True: "benign", False: "harmful"}
    assert agreement.agreement(both, seed=1)["with_scene"].tolist() == [False, True]


def test_without_labels_the_frames_are_empty(tmp_path):
    with LabelStore(tmp_path / "labels.sqlite") as store:
        nothing = store.labels()
    assert len(agreement.agreement(nothing, seed=1)) == 0
    assert len(agreement.verdicts(nothing)) == 0


def test_a_single_listener_has_verdicts_but_no_agreement():
    alone = labels(("a", "1", "benign"), ("a", "2", "harmful"))
    assert agreement.verdicts(alone)["share"].tolist() == [1, 1]
    row = agreement.agreement(alone, seed=1).iloc[0]
    assert (row["listeners"], row["labels"], row["stimuli"]) == (1, 2, 0)
    assert np.isnan(row["alpha"])
    assert agreement.in_words(row) == (
        "no agreement to compute: no clip has the labels of two listeners"
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            {"stimuli": 40, "listeners": 3, "alpha": -0.05, "low": -0.2, "high": 0.1},
            "Krippendorff's alpha \N{MINUS SIGN}0.05 (95% interval \N{MINUS SIGN}0.20 to 0.10; "
            "40 clips that two or more of 3 listeners labelled)",
        ),
        (
            {"stimuli": 4, "listeners": 2, "alpha": 1.0, "low": np.nan, "high": np.nan},
            "Krippendorff's alpha 1.00 (4 clips that two or more of 2 listeners labelled; "
            "too uniform for an interval)",
        ),
        (
            {"stimuli": 4, "listeners": 2, "alpha": np.nan, "low": np.nan, "high": np.nan},
            "no agreement to compute: all labels of the "
            "4 clips that two or more of 2 listeners labelled are the same",
        ),
    ],
)
def test_agreement_is_put_into_words(row, words):
    assert agreement.in_words(row) == words
