import numpy as np
import pytest

from aor_lib.steering.directions import difference_in_means, probe, probe_direction

WIDTH = 16


def test_a_probe_tells_classes_apart_that_differ_where_others_vary_more():
    refused = np.arange(200) >= 100
    rows = np.random.default_rng(1).normal(0, 0.1, (200, WIDTH))
    rows[refused, 0] += 1
    rows[:, 1] *= 500
    normal, intercept = probe(rows, refused)
    assert ((rows @ normal + intercept > 0) == refused).mean() > 0.95
    direction = probe_direction(rows, refused)
    assert np.abs(direction[0]) > 10 * np.abs(direction[1])
    means = difference_in_means(rows, refused, ~refused)
    assert direction @ direction == pytest.approx(means @ direction, rel=1e-3)
