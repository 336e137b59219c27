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

WIDTH = 16
vectors = arrays(np.float32, WIDTH, elements=st.floats(-8, 8, width=16))


@given(vectors, vectors.filter(lambda v: np.abs(v).max() > 0.1), st.floats(0, 1))
def test_a_share_of_the_component_along_another_direction_is_projected_out(one, other, lam):
    left = project_out(one, other, lam)
    unit = other / np.linalg.norm(other)
    assert left @ unit == pytest.approx((1 - lam) * (one @ unit), abs=1e-3)
    across = left - (left @ unit) * unit
    np.testing.assert_allclose(across, one - (one @ unit) * unit, atol=1e-3)


def test_a_difference_in_means_needs_a_refused_row():
    with pytest.raises(ValueError, match="no request was refused"):
        difference_in_means(np.eye(2), np.array([False, False]), np.array([True, True]))


def test_a_probe_tells_classes_apart_that_differ_where_others_vary_more():
    refused = np.arange(200) >= 100
    rows = np.random.default_rng(1).normal(0, 0.1, (200, WIDTH))
    rows[refused, 0] += 1
    rows[:, 1] *= 500
    normal, intercept = probe(rows, refused)
    assert ((rows @ normal + intercept > 0) == refused).mean() > 0.95
    direction = probe_direction(rows, refused, ~refused)
    assert np.abs(direction[0]) > 10 * np.abs(direction[1])
    means = difference_in_means(rows, refused, ~refused)
    assert direction @ direction == pytest.approx(means @ direction, rel=1e-3)
