import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, multinomial, norm

from aor_lib.analysis import stats


def exact_power(utterances, gained, lost):
    """Power of the exact McNemar test, summed over every outcome there can be."""
    total = 0.0
    for more, fewer in itertools.product(range(utterances + 1), repeat=2):
        if 0 < more + fewer <= utterances and binomtest(more, more + fewer).pvalue <= 0.05:
            rest = utterances - more - fewer
            total += multinomial.pmf(
                [more, fewer, rest], utterances, [gained, lost, 1 - gained - lost]
            )
    return total


def test_power_is_that_of_every_outcome_summed():
    # Independent answers: 0.5 falls to 0.2, so that 0.1 are gained and 0.4 are lost.
    assert stats.power(30, 0.5, -0.3, 0.0) == pytest.approx(exact_power(30, 0.1, 0.4), abs=0.025)


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


def test_a_difference_that_cannot_be_has_no_number():
    table = stats.utterances_needed([0.1], [-0.2, 0.2], 0.5)
    assert table["utterances"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("difference", "correlation", "message"),
    [(-0.6, 0.5, "no rate lies outside 0 to 1"), (-0.2, 1.0, "must be at least 0 and below 1")],
)
def test_impossible_rates_and_correlations_are_refused(difference, correlation, message):
    with pytest.raises(ValueError, match=message):
        stats.power(50, 0.5, difference, correlation)
