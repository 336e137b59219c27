from dataclasses import replace

import numpy as np
import pytest

from aor_lib.steering.candidates import Candidate, candidates, variants
from aor_lib.steering.directions import difference_in_means
from aor_lib.steering.interventions import Addition, Gate, Gated
from aor_lib.steering.sources import Sources
from aor_lib.steering.tables import COMPONENTS


def test_the_false_refusal_direction_is_orthogonal_to_the_true_one_at_share_1(requests):
    tried = [other for one in candidates(requests, 1) for other in (one, *variants(one, requests))]
    found = {(one.method, one.lam): one for one in tried}
    true = difference_in_means(requests.at(1), requests.harmful, ~requests.refused)
    unit = true / np.linalg.norm(true)
    assert found["false_refusal_ablation", 1.0].vector @ unit == pytest.approx(0, abs=1e-5)
    assert found["false_refusal_ablation", 0.5].vector @ unit > 0.1
    assert len({candidate.name for candidate in tried}) == len(tried)


def test_sarsteer_adds_nothing_that_harmless_requests_vary_in(requests):
    # Harmless requests vary in the first dimension above all, where words of refusal lead too.
    rows = requests.recorded.activations.copy()
    safe = ~requests.refused
    rows[safe, :, 0] += np.linspace(-3, 3, safe.sum())[:, None]
    refusing = requests.elsewhere.refusing + np.eye(16, dtype=np.float32)[5]
    there = replace(
        requests, recorded=replace(requests.recorded, activations=rows), elsewhere=Sources(refusing)
    )
    (found,) = [one for one in candidates(there, 1) if one.method == "sarsteer"]
    tried = [found, *variants(found, there)]
    assert {one.components for one in tried} == set(COMPONENTS)
    for one in tried:
        assert abs(one.vector[0]) < 0.05 * np.linalg.norm(one.vector)
    assert {one.coefficient for one in tried} >= {-1.0, 1.0}


def test_without_words_that_move_the_model_there_is_no_sarsteer(requests):
    unmoved = replace(requests, elsewhere=Sources(np.zeros((3, 16), np.float32)))
    assert "sarsteer" not in {one.method for one in candidates(unmoved, 1)}


def test_directions_of_all_sources_are_equally_long(requests):
    others = {"text": lambda layer: 7 * requests.at(layer)[:, ::-1]}
    both = replace(requests, elsewhere=replace(requests.elsewhere, others=others))
    heard, read = (one for one in candidates(both, 1) if one.method == "difference_in_means")
    assert (heard.source, read.source) == ("audio", "text")
    assert np.linalg.norm(read.vector) == pytest.approx(np.linalg.norm(heard.vector))
    assert read.vector[-1] == pytest.approx(heard.vector[0], rel=1e-5)


def test_a_random_control_differs_from_its_candidate_in_the_direction_alone(away):
    gate = Gate(0, away, 0.0, 0.5)
    candidate = Candidate("conditional", "probe", "audio", 2, Gated(gate, Addition(2, away, -0.5)))
    control = candidate.randomised(seed=1)
    assert control.intervention.gate is gate
    assert (control.coefficient, control.layer) == (-0.5, 2)
    assert np.linalg.norm(control.vector) == pytest.approx(np.linalg.norm(away))
    assert abs(control.vector @ away) < 0.9
