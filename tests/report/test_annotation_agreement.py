import numpy as np
import pandas as pd
import pytest

from aor_lib.report.annotation import agreement

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


def test_alpha_is_that_of_the_published_example():
    assert agreement.krippendorff_alpha(PUBLISHED) == pytest.approx(0.743, abs=5e-4)


def test_the_interval_holds_alpha_and_repeats_with_its_seed():
    low, high = agreement.alpha_interval(PUBLISHED, seed=1)
    assert -1 < low < 0.743 < high <= 1
    assert (low, high) == agreement.alpha_interval(PUBLISHED, seed=1)
    assert (low, high) != agreement.alpha_interval(PUBLISHED, seed=2)


def test_what_is_not_defined_has_no_alpha_and_what_does_not_vary_no_interval():
    same = pd.DataFrame({"a": ["x", "y", "x"], "b": ["x", "y", "x"]})
    apart = pd.DataFrame({"a": ["x", None], "b": [None, "y"]})
    assert agreement.krippendorff_alpha(same) == 1
    for ratings in (pd.DataFrame(), apart, same.head(1)):
        assert np.isnan(agreement.krippendorff_alpha(ratings))
    for ratings in (same, apart):
        assert np.isnan(agreement.alpha_interval(ratings, seed=1)).all()


def annotations(*rows):
    return pd.DataFrame(rows, columns=["annotator", "item_sha256", "label"])


def test_the_majority_is_the_most_frequent_label_or_a_tie():
    rows = [("a", "1", "benign"), ("b", "1", "benign"), ("c", "1", "harmful")]
    tied = [("a", "2", "benign"), ("b", "2", "harmful"), ("a", "3", "harmful")]
    found = agreement.majority(annotations(*rows, *tied))
    assert found.to_dict() == {"1": "benign", "2": "tie", "3": "harmful"}


def test_kinds_of_items_are_apart_and_items_of_no_kind_do_not_count():
    rows = [(who, item, item) for who in ("a", "b") for item in ("1", "2", "3", "4")]
    kinds = pd.Series({"1": True, "2": True, "3": False})
    found = agreement.agreement(annotations(*rows, ("c", "1", "other")), kinds, seed=1)
    assert found["kind"].tolist() == [False, True]
    assert found["items"].tolist() == [1, 2]
    assert found["annotators"].tolist() == [2, 3]
    assert np.isnan(found["alpha"][0])
    assert 0 < found["alpha"][1] < 1
