import numpy as np
import pytest
from scipy.stats import norm

from aor_lib.analysis import stats


def test_the_number_needed_is_near_the_published_formula():
    # R. J. Connor, Biometrics 43:207-211, 1987; the exact test needs somewhat more.
    table = stats.utterances_needed([0.5], [-0.05, -0.1, -0.2], 0.6)
    for row in table.to_dict("records"):
        changed, difference = row["discordant"], row["difference"]
        connor = (
            norm.ppf(0.975) * np.sqrt(changed) + norm.ppf(0.8) * np.sqrt(changed - difference**2)
        ) ** 2 / difference**2
        assert connor < row["utterances"] < 1.15 * connor + 10


def test_without_a_difference_the_test_keeps_its_level_and_no_study_is_large_enough():
    assert stats.power(200, 0.3, 0.0, 0.5) <= 0.055
    assert stats.utterances_needed([0.5], [0.0], 0.5)["utterances"].isna().all()


@pytest.mark.parametrize(
    ("difference", "correlation", "message"),
    [(-0.6, 0.5, "no rate lies outside 0 to 1"), (-0.2, 1.0, "must be at least 0 and below 1")],
)
def test_impossible_rates_and_correlations_are_refused(difference, correlation, message):
    with pytest.raises(ValueError, match=message):
        stats.power(50, 0.5, difference, correlation)
