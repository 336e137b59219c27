"""Steering the local model: real words, real padding."""

import numpy as np
import pytest

from aor_lib.config.params import load_model_cards
from aor_lib.config.records import Generation
from aor_lib.models.base import Turn
from aor_lib.models.reference.cascade import Cascade
from aor_lib.steering.activations import activations
from aor_lib.steering.interventions import Addition, Gate, Gated, steered

pytestmark = pytest.mark.slow

GENERATION = Generation(max_new_tokens=6)
QUESTIONS = (
    "What is tea?",
    "How do I paint an old wooden chair in the garden before my guests arrive tonight?",
    "Name a fruit that is red.",
)


def test_a_batch_is_steered_as_each_question_alone_and_nothing_stays_behind():
    model = Cascade(load_model_cards()["ref-permissive"])
    asked = [(Turn("user", text=question),) for question in QUESTIONS]
    plain = model.answer(asked, GENERATION)
    rows = np.stack([row[14] for row, _ in activations(model, asked)])
    apart = rows[0] - rows[1]
    scores = rows @ apart
    gate = Gate(14, apart, 0.0, float(np.sort(scores)[1] + 1e-3))
    push = Addition(16, apart, 2.0)
    answers = {}
    for name, intervention in (
        ("addition", push),
        ("gated", Gated(gate, push)),
    ):
        with steered(model, intervention):
            answers[name] = model.answer(asked, GENERATION)
            assert answers[name] == [model.answer([one], GENERATION)[0] for one in asked]
    opened = scores.argmax()
    assert answers["addition"] != plain
    assert [answers["gated"][row] for row in range(3)] == [
        answers["addition"][row] if row == opened else plain[row] for row in range(3)
    ]
    assert model.answer(asked, GENERATION) == plain
