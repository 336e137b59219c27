import numpy as np
import pytest
from scipy.stats import norm

from aor_lib.analysis.stats.paired import power


def test_power_is_near_that_of_the_published_formula():
    # R. J. Connor, Biometrics 43:207-211, 1987. Answers that are not correlated change in
    # 0.5 * 0.6 + 0.5 * 0.4 of utterances; the exact test has somewhat less power.
    utterances, changed, difference = 400, 0.5, 0.1
    reach = difference * np.sqrt(utterances) - norm.ppf(0.975) * np.sqrt(changed)
    connor = norm.cdf(reach / np.sqrt(changed - difference**2))
    assert connor - 0.06 < power(utterances, 0.5, -difference, 0.0) < connor + 0.02


def test_power_grows_with_utterances_and_falls_with_the_size_of_the_family():
    few, many = (power(n, 0.5, -0.2, 0.7) for n in (30, 90))
    assert few < many
    assert power(90, 0.5, -0.2, 0.7, tests=10) < many


def test_a_rate_or_correlation_outside_its_range_is_named():
    wrong = {"rate 1.2": (1.2, -0.3, 0.5), "difference 0.6": (0.5, 0.6, 0.5)}
    wrong["correlation 1"] = (0.5, -0.2, 1.0)
    for says, values in wrong.items():
        with pytest.raises(ValueError, match=says):
            power(60, *values)
