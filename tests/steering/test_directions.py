import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aor_lib.steering.directions import (
    difference_in_means,
    probe,
    probe_direction,
    project_out,
)

RNG = np.random.default_rng(0)
WIDTH = 16


def two_clouds(number, apart):
    """Rows around the origin and, for the second half, around ``apart``."""
    second = np.arange(number) >= number // 2
    rows = np.random.default_rng(1).normal(0, 0.1, (number, len(apart)))
    return (rows + np.outer(second, apart)).astype(np.float32), second


def test_the_difference_in_means_leads_from_one_mean_to_the_other():
    apart = RNG.normal(size=WIDTH)
    rows, refused = two_clouds(400, apart)
    direction = difference_in_means(rows, refused, ~refused)
    assert direction.dtype == np.float32
    np.testing.assert_allclose(direction, apart, atol=0.05)
    left = rows[refused] - direction
    np.testing.assert_allclose(left.mean(axis=0), rows[~refused].mean(axis=0), atol=1e-6)
    with pytest.raises(ValueError, match="no request was refused"):
        difference_in_means(rows, refused & ~refused, ~refused)


vectors = arrays(np.float32, WIDTH, elements=st.floats(-8, 8, width=16))


@given(vectors, vectors.filter(lambda v: np.abs(v).max() > 0.1), st.floats(0, 1))
def test_a_share_of_the_component_along_another_direction_is_projected_out(one, other, lam):
    left = project_out(one, other, lam)
    unit = other / np.linalg.norm(other)
    assert left @ unit == pytest.approx((1 - lam) * (one @ unit), abs=1e-3)
    across = left - (left @ unit) * unit
    np.testing.assert_allclose(across, one - (one @ unit) * unit, atol=1e-3)


def test_a_probe_tells_classes_apart_that_differ_where_others_vary_more():
    rows, refused = two_clouds(200, np.eye(WIDTH)[0])
    rows[:, 1] += RNG.normal(0, 50, 200)
    normal, intercept = probe(rows, refused)
    assert ((rows @ normal + intercept > 0) == refused).mean() > 0.95
    direction = probe_direction(rows, refused, ~refused)
    assert np.abs(direction[0]) > 10 * np.abs(direction[1])
    means = difference_in_means(rows, refused, ~refused)
    assert direction @ direction == pytest.approx(means @ direction, rel=1e-3)
