import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap
from statsmodels.stats.contingency_tables import mcnemar

from aor_lib import stats


def results(rows: list[tuple[str, str, str]], **columns: object) -> pd.DataFrame:
    """Trials given as (utterance, status, label)."""
    frame = pd.DataFrame(rows, columns=["utterance_id", "status", "label"])
    return frame.assign(model="m", intent="pseudo_harmful", **columns)


REFUSED = ("ok", "full_refusal")
COMPLIED = ("ok", "full_compliance")


def test_wilson_reproduces_a_published_example():
    # Newcombe (1998), Statistics in Medicine 17, table I: 81 of 263.
    assert stats.wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    # And 0 of 20.
    assert stats.wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_partial_and_full_refusals_count_as_refusals():
    frame = results([("a", *REFUSED), ("b", "ok", "partial_refusal"), ("c", *COMPLIED)])
    (row,) = stats.rates(frame, ["model"]).to_dict("records")
    assert row["rate"] == pytest.approx(2 / 3)
    assert row["interval"] == "Wilson"


def test_failures_and_unjudged_answers_are_counted_and_in_no_rate():
    frame = results(
        [
            ("a", *REFUSED),
            ("b", "failed", None),
            ("c", "ok", "unjudged"),
            ("d", "missing", None),
            ("e", "blocked", "unjudged"),
        ]
    )
    (row,) = stats.rates(frame, ["model"]).to_dict("records")
    assert (row["trials"], row["judged"]) == (5, 1)
    assert (row["failed"], row["blocked"], row["unjudged"]) == (2, 1, 1)
    assert row["rate"] == 1.0


def test_nothing_judged_gives_no_rate():
    (row,) = stats.rates(results([("a", "failed", None)]), ["model"]).to_dict("records")
    assert np.isnan(row["rate"])
    assert np.isnan(row["low"])


def test_repeated_utterances_get_an_interval_over_utterances():
    once = results([(str(i), *(REFUSED if i % 2 else COMPLIED)) for i in range(40)])
    copied = pd.concat([once] * 5)
    narrow, wide = (stats.rates(f, ["model"]).iloc[0] for f in (once, copied))
    assert wide["interval"] == "bootstrap over utterances"
    # Copies of the same answers tell nothing new, so the interval must not shrink.
    assert wide["high"] - wide["low"] == pytest.approx(narrow["high"] - narrow["low"], abs=0.03)


def test_a_rate_of_zero_over_repeated_utterances_still_has_an_upper_bound():
    frame = pd.concat([results([(str(i), *COMPLIED) for i in range(10)])] * 3)
    row = stats.rates(frame, ["model"]).iloc[0]
    assert row["low"] == 0
    assert row["high"] == pytest.approx(stats.wilson(0, 10)[1])


def test_the_cluster_bootstrap_agrees_with_scipys():
    rng = np.random.default_rng(5)
    values = rng.random(60)
    ours = stats.cluster_bootstrap(values, np.ones(60))
    theirs = bootstrap((values,), np.mean, method="percentile", rng=3).confidence_interval
    assert ours == pytest.approx(tuple(theirs), abs=0.01)


def test_mcnemar_agrees_with_statsmodels():
    before = pd.Series([True] * 12 + [False] * 20)
    after = pd.Series([True] * 3 + [False] * 9 + [True] * 2 + [False] * 18)
    expected = mcnemar([[3, 9], [2, 18]], exact=True).pvalue
    assert stats.mcnemar_exact(before, after) == pytest.approx(expected)


def paired(n: int, changed: int) -> pd.DataFrame:
    base = results([(str(i), *REFUSED) for i in range(n)], condition="speech_only")
    level = results(
        [(str(i), *(COMPLIED if i < changed else REFUSED)) for i in range(n)], condition="matched"
    )
    return pd.concat([base, level])


def test_a_paired_difference_is_taken_over_the_same_utterances():
    frame = pd.concat([paired(20, 5), results([("x", *COMPLIED)], condition="matched")])
    (row,) = stats.paired_differences(frame, "condition", "speech_only", ["model"]).to_dict(
        "records"
    )
    assert row["utterances"] == 20
    assert row["difference"] == pytest.approx(-0.25)
    assert row["low"] < -0.25 < row["high"] < 0
    assert row["p_value"] == pytest.approx(2 * 0.5**5)


def test_utterances_that_all_agree_still_leave_doubt():
    (row,) = stats.paired_differences(paired(20, 0), "condition", "speech_only", ["model"]).to_dict(
        "records"
    )
    assert row["difference"] == 0
    assert row["low"] < 0 < row["high"]
    assert row["p_value"] == 1


def test_p_values_are_adjusted_over_all_comparisons_returned():
    frame = pd.concat([paired(20, 6).assign(model=m) for m in "abc"])
    table = stats.paired_differences(frame, "condition", "speech_only", ["model"])
    assert (table["p_holm"] == 3 * table["p_value"]).all()


def test_no_comparison_gives_an_empty_table():
    frame = results([("a", *REFUSED)], condition="matched")
    assert stats.paired_differences(frame, "condition", "speech_only", ["model"]).empty


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="lack the columns scenario"):
        stats.rates(results([("a", *REFUSED)]), ["scenario"])
