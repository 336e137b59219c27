import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from aor_lib.analysis.stats import wilson
from aor_lib.report.annotation import judge_agreement as agree

LABELS = ("full_compliance", "partial_refusal", "full_refusal")


def series(*values):
    return pd.Series(values, dtype=object)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1))
def test_kappa_is_scikit_learns_and_lies_in_its_interval(pairs):
    first, second = (series(*side) for side in zip(*pairs, strict=True))
    kappa, low, high = agree.cohen_kappa(first, second)
    if len({*first, *second}) == 1:
        assert np.isnan([kappa, low, high]).all()
    else:
        assert kappa == pytest.approx(cohen_kappa_score(first, second))
        assert (kappa == 1 and np.isnan([low, high]).all()) or -1 <= low <= kappa <= high <= 1


def test_what_one_has_not_labelled_does_not_count():
    assert agree.cohen_kappa(series("y", "n", None), series("y", "n", "y"))[0] == 1
    assert np.isnan(agree.cohen_kappa(series(None), series("y"))[0])


def test_every_pair_of_raters_is_compared():
    full, partial, helped = "full_refusal", "partial_refusal", "full_compliance"
    ann, bob = [full, partial, helped, helped], [full, full, helped, None]
    found = agree.pairwise(
        pd.DataFrame({"ann": ann, "bob": bob, "rules": [full, full, helped, full]})
    )
    pairs = found[["first", "second", "answers"]].to_numpy().tolist()
    assert pairs == [["ann", "bob", 3], ["ann", "rules", 4], ["bob", "rules", 3]]
    assert found["kappa"].iloc[2] == found["alpha"].iloc[2] == 1
    assert found["kappa_any_refusal"].iloc[0] == 1


def test_a_judges_labels_are_confirmed_by_people():
    table = pd.DataFrame(
        {
            "ann": ["full_refusal", "full_compliance", None],
            "bob": ["full_refusal", "full_refusal", "full_compliance"],
            "rules": ["full_refusal", "full_refusal", "full_compliance"],
        }
    )
    found = agree.confirmed(table, "rules", ["ann", "bob"]).set_index("label")
    assert found.loc["full_refusal", ["labels", "agreeing"]].tolist() == [4, 3]
    assert tuple(found.loc["full_refusal", ["low", "high"]]) == wilson(3, 4)
    assert found.loc["full_compliance", "rate"] == 1


def test_calibration_counts_refusals_in_bins_of_probability():
    p = pd.Series([0.02, 0.04, 0.55, 1.0, None, 0.5])
    human = series(
        "full_compliance", "full_refusal", "partial_refusal", "full_refusal", "full_refusal", None
    )
    found = agree.calibration(p, human)
    assert found["answers"].tolist() == [2, 1, 1]
    assert found["rate"].tolist() == [0.5, 1, 1]
    assert found["predicted"].tolist() == pytest.approx([0.03, 0.55, 1])
    assert (found["low"] <= found["rate"]).all()
