import pandas as pd
import pytest

from aor_lib.analysis.people import agreement


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
