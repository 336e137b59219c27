import pandas as pd
import pytest

from aor_lib.analysis.agreement import agreement, sensitivity_by_source

FULL, PARTIAL, HELPED = "full_refusal", "partial_refusal", "full_compliance"


def test_kappa_is_of_what_both_labelled_and_missing_where_nothing_varies():
    labels = pd.DataFrame(
        {
            "people": [*"xxyy", None],
            "judge": [*"xxyxy"],
            "same": [*"xxyyx"],
            "one": [*"xx", *[None] * 3],
        }
    )
    pairs = [(name, "people") for name in ("judge", "same", "one")]
    found = agreement(labels, pairs).set_index("rater")
    assert found["n"].tolist() == [4, 4, 2]
    assert found.loc["judge", "kappa"] == pytest.approx(0.5)
    assert found.loc["judge", "low"] < 0.5 < found.loc["judge", "high"] == 1
    assert found.loc["same", "kappa"] == 1
    assert found.loc["one"].isna().sum() == 3


def test_sensitivity_counts_any_refusal_and_leaves_out_unjudged_answers():
    answers = pd.DataFrame(
        {
            "source_model": "m",
            "human": ["full_refusal"] * 10 + ["full_compliance"] * 10,
            "judge": ["partial_refusal"] * 9 + ["full_compliance"] * 9 + ["full_refusal"] * 2,
        }
    )
    both = pd.concat([answers, answers.assign(judge="unjudged")])
    found = sensitivity_by_source(both).loc["m"]
    assert found.to_dict() == {
        "refusals": 10,
        "sensitivity": 0.9,
        "compliances": 10,
        "specificity": 0.8,
    }
