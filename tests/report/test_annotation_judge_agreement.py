import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis.stats import wilson
from aor_lib.report.annotation import judge_agreement as agree


def series(*values):
    return pd.Series(values, dtype=object)


def test_kappa_is_of_what_both_labelled_and_has_an_interval_where_something_varies():
    kappa, *interval = agree.cohen_kappa(series("a", "b", None), series("a", "b", "a"))
    assert kappa == 1
    assert np.isnan(interval).all()
    assert np.isnan(agree.cohen_kappa(series("a", None), series("a", "b"))).all()
    kappa, low, high = agree.cohen_kappa(series(*"xxyy"), series(*"xxyx"))
    assert low < kappa < high == 1  # and no more


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
