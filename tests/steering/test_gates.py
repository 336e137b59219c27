import dataclasses

import numpy as np

from aor_lib.steering.activations import Recorded
from aor_lib.steering.gates import hold_out

FAMILIES = [f"f{n // 3}" for n in range(60)]


def test_the_layer_that_tells_harmful_requests_apart_is_found(requests):
    held_out = hold_out(requests, FAMILIES, [0, 1, 2])
    assert held_out.separation[1] > 0.95
    assert abs(held_out.separation[0] - 0.5) < 0.25
    assert (held_out.best_layer(2), held_out.best_layer(0)) == (1, 0)
    assert not np.isnan(held_out.scores[1]).any()


def test_a_gate_is_weighed_by_families_that_it_has_not_seen(requests):
    # Each family has rows that only it explains: a gate that has seen them knows them by heart.
    by_heart = np.random.default_rng(5).normal(size=(20, 1, 200)).repeat(3, axis=0)
    recorded = Recorded(by_heart.astype(np.float32), requests.recorded.logits)
    same = dataclasses.replace(requests, recorded=recorded)
    assert abs(hold_out(same, FAMILIES, [0]).separation[0] - 0.5) < 0.3
