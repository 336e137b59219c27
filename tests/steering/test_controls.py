import numpy as np
import pytest

from aor_lib.steering.candidates import Candidate
from aor_lib.steering.controls import random_controls
from aor_lib.steering.interventions import Addition, Gate, Gated

OPENED = np.arange(40) % 3 == 0


@pytest.fixture
def asked(stimuli):
    return stimuli[: len(OPENED)]


def asked_by(parts):
    return sorted(one.stimulus_id for _, its in parts for one in its)


def test_a_random_gate_opens_for_as_many_requests_but_not_for_the_same(asked, away):
    intervention = Gated(Gate(0, away, 0, 0), Addition(2, away, -1))
    gated = Candidate("conditional", "probe", "audio", 2, intervention)
    controls = random_controls(gated, asked, OPENED)
    parts = [part for name, part in controls.items() if "random_gate" in name]
    opened = asked_by([part for part in parts if part[0] is not None])
    assert len(opened) == OPENED.sum()
    assert opened != sorted(asked[place].stimulus_id for place in np.flatnonzero(OPENED))
    interventions = [candidate.intervention for candidate, _ in parts if candidate is not None]
    assert interventions == [intervention, intervention.then]


def test_without_a_gate_there_are_random_directions_alone(asked, away):
    ungated = Candidate("probe", "probe", "audio", 2, Addition(2, away, -1))
    parts = random_controls(ungated, asked, np.ones(len(asked), dtype=bool)).values()
    assert asked_by(parts) == sorted(one.stimulus_id for one in asked)
    assert all(candidate is not None for candidate, _ in parts)
