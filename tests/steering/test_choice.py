import numpy as np
import pandas as pd
import pytest

from aor_lib.steering.choice import best, gate_threshold

POINTS = pd.DataFrame({"orr": [0.9, 0.5, 0.2, 0.1, 0.05], "hrr": [0.9, 0.85, 0.8, 0.3, 0.2]})


def test_the_least_over_refusal_within_the_loss_is_best():
    assert best(POINTS, hrr=0.9, max_hrr_loss=0.1).index.tolist() == [2, 1, 0, 3, 4]
    assert best(POINTS, hrr=0.9, max_hrr_loss=0.05).index[0] == 1
    equal = pd.DataFrame({"orr": [0.2, 0.2], "hrr": [0.85, 0.9]})
    assert best(equal, hrr=0.9, max_hrr_loss=0.1).index.tolist() == [1, 0]


def test_beyond_the_loss_the_point_that_keeps_both_kinds_apart_most_is_best():
    lost = best(POINTS, hrr=1.5, max_hrr_loss=0.05)
    assert not lost["within"].any()
    assert lost.index[0] == 2


@pytest.mark.parametrize(("loss", "orr", "hrr"), [(0.0, None, 1.0), (0.1, None, 0.9), (1.0, 0, 0)])
def test_a_gates_threshold_keeps_the_loss_within_its_limit(loss, orr, hrr):
    pseudo_harmful = np.arange(200) < 100
    scores = np.where(pseudo_harmful, 1.0, -1.0) + np.random.default_rng(4).normal(0, 0.7, 200)
    refused, steered = np.ones(200, bool), np.zeros(200, bool)
    threshold = gate_threshold(scores, pseudo_harmful, refused, steered, loss)
    answered = np.where(scores > threshold, steered, refused)
    if orr is None:  # the least that so many open gates allow
        lost = round(100 * loss)
        orr = (scores[:100] <= np.sort(scores[100:])[-1 - lost]).mean()
    assert answered[:100].mean() == orr
    assert answered[100:].mean() >= hrr
