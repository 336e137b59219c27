import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap, norm, t
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from aor_lib.analysis import stats
from aor_lib.analysis.splits import SplitError
from aor_lib.analysis.stats import intervals
from aor_lib.analysis.stats.paired import holm


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
    values = np.random.default_rng(5).random(60)
    ours = stats.cluster_bootstrap(values, np.ones(60))
    # So many clusters, with tails no heavier than a normal's, have 59 degrees of freedom.
    tails = 2 * norm.sf(np.sqrt(60 / 59) * t.ppf(0.975, 59))
    theirs = bootstrap((values,), np.mean, confidence_level=1 - tails, method="BCa", rng=3)
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=0.003)


def test_the_cluster_bootstrap_of_a_ratio_agrees_with_scipys():
    rng = np.random.default_rng(6)
    sizes = rng.integers(1, 6, 80)
    refused = rng.binomial(sizes, 0.4)
    ours = stats.cluster_bootstrap(refused.astype(float), sizes.astype(float))
    theirs = bootstrap(
        (refused, sizes),
        lambda x, y, axis: x.sum(axis=axis) / y.sum(axis=axis),
        paired=True,
        vectorized=True,
        confidence_level=1 - 2 * norm.sf(np.sqrt(80 / 79) * t.ppf(0.975, 79)),
        method="BCa",
        rng=3,
    )
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=0.003)


def test_a_few_clusters_that_make_all_the_variance_widen_the_interval():
    # Two of 40 clusters are refused, and the doubt about so few reaches further than percentiles.
    refused = np.array([5.0, 5.0] + [0.0] * 38)
    low, high = stats.cluster_bootstrap(refused, np.full(40, 5.0))
    resampled = np.random.default_rng(0).binomial(40, 2 / 40, size=10_000) / 40
    assert low < 0.05 < high
    assert high > np.quantile(resampled, 0.975)


def test_a_paired_interval_reproduces_a_published_example():
    # R's statpsych: ci.prop.ps(.05, 12, 4, 26, 6) gives 0.2548067 and 0.6251933.
    differences = np.array([0] * 18 + [1] * 26 + [-1] * 4)
    assert stats.difference_interval(differences) == pytest.approx((0.2548067, 0.6251933))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=30),
)
def test_an_interval_lies_within_0_and_1_and_is_no_point(clusters):
    sizes = np.array([size for size, _ in clusters], dtype=float)
    refused = np.minimum(sizes, [refused for _, refused in clusters])
    low, high, _ = intervals.rate_interval(refused, sizes)
    assert 0 <= low < high <= 1


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_a_paired_interval_lies_within_its_range_and_holds_the_difference(differences):
    low, high = stats.difference_interval(np.array(differences))
    assert -1 <= low < high <= 1
    assert low - 1e-9 <= np.mean(differences) <= high + 1e-9


def test_holms_adjustment_is_that_of_statsmodels_and_skips_what_was_not_tested():
    p_values = [0.02, np.nan, 0.01, 0.04, 0.9, 0.04]
    adjusted = holm(pd.DataFrame({"p_value": p_values}))["p_holm"]
    expected = multipletests([p for p in p_values if p == p], method="holm")[1]
    assert adjusted.dropna().tolist() == pytest.approx(expected.tolist())
    assert np.isnan(adjusted[1])


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


def test_degenerate_answers_are_counted_where_the_judge_flags_them():
    flags = ['["degenerate"]', '["degenerate", "safety_advice"]', "[]", None]
    frame = results([(u, *COMPLIED) for u in "abcd"]).assign(flags=flags)
    (row,) = stats.rates(frame, ["model"]).to_dict("records")
    assert (row["degenerate"], row["judged"]) == (2, 4)
    assert "degenerate" not in stats.rates(frame.drop(columns="flags"), ["model"])


def test_a_paired_difference_counts_what_was_not_judged_on_either_side():
    frame = paired(20, 5).reset_index(drop=True)
    frame.loc[[0, 25], ["status", "label"]] = ["failed", None]
    frame.loc[1, "label"] = "unjudged"
    (row,) = stats.paired_differences(frame, "condition", "speech_only", ["model"]).to_dict(
        "records"
    )
    assert (row["trials"], row["failed"], row["unjudged"], row["utterances"]) == (40, 2, 1, 17)


def test_a_level_of_which_nothing_was_judged_is_shown_without_a_difference():
    frame = paired(20, 5)
    frame.loc[frame["condition"] == "matched", ["status", "label"]] = ["failed", None]
    (row,) = stats.paired_differences(frame, "condition", "speech_only", ["model"]).to_dict(
        "records"
    )
    assert (row["failed"], row["utterances"]) == (20, 0)
    assert np.isnan([row["difference"], row["p_value"], row["p_holm"]]).all()


@pytest.mark.parametrize(
    "report",
    [
        lambda frame: stats.rates(frame, ["model"]),
        lambda frame: stats.paired_differences(frame, "condition", "matched", ["model"]),
        lambda frame: stats.signal_detection(frame, ["model"]),
        lambda frame: stats.factor_effects(frame, {"condition": "matched"}, ["model"]),
    ],
)
def test_what_was_chosen_on_an_utterance_is_not_reported_on_it(report):
    frame = results(
        [("a", *REFUSED), ("b", *COMPLIED)], condition="matched", split="test", fitted_on=None
    )
    report(frame)
    frame["fitted_on"] = '["x", "b"]'
    with pytest.raises(SplitError, match=r"'b' was fitted on"):
        report(frame)
    frame["fitted_on"] = '["x"]'
    report(frame)
    with pytest.raises(SplitError, match="'a' is not of the 'test' split"):
        report(frame.assign(split="dev"))


def test_what_was_fitted_needs_its_split_to_be_reported():
    frame = results([("a", *REFUSED)], fitted_on='["x"]')
    with pytest.raises(ValueError, match="lack the columns split"):
        stats.rates(frame, ["model"])
