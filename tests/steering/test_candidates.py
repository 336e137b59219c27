import numpy as np
import pytest

from aor_lib.steering.candidates import Candidate, candidates
from aor_lib.steering.directions import difference_in_means
from aor_lib.steering.interventions import Addition, Gate, Gated


def test_the_false_refusal_direction_is_orthogonal_to_the_true_one_at_share_1(requests):
    found = {(one.method, one.lam): one for one in candidates(requests, 1)}
    true = difference_in_means(requests.at(1), requests.harmful, ~requests.refused)
    unit = true / np.linalg.norm(true)
    assert found["false_refusal_ablation", 1.0].vector @ unit == pytest.approx(0, abs=1e-5)
    assert found["false_refusal_ablation", 0.5].vector @ unit > 0.1
    assert len({candidate.name for candidate in found.values()}) == len(found)


def test_a_random_control_differs_from_its_candidate_in_the_direction_alone(away):
    gate = Gate(0, away, 0.0, 0.5)
    candidate = Candidate("conditional", "probe", 2, Gated(gate, Addition(2, away, -0.5)))
    control = candidate.randomised(seed=1)
    assert control.intervention.gate is gate
    assert (control.coefficient, control.layer) == (-0.5, 2)
    assert np.linalg.norm(control.vector) == pytest.approx(np.linalg.norm(away))
    assert abs(control.vector @ away) < 0.9
