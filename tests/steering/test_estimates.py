"""Estimates of how likely a model is to refuse."""

from pathlib import Path

import numpy as np

from aor_lib.judge import JUDGES
from aor_lib.models.base import Turn
from aor_lib.steering.estimates import by_beginning
from aor_lib.steering.interventions import Addition, steered


def test_beginnings_of_answers_are_judged_under_what_the_model_is_steered_by(steerable, away):
    model = steerable()
    estimate = by_beginning(model, JUDGES["speech-acts"])
    asked = [(Turn("user", audio=Path(f"{name}.1.flac")),) for name in ("harmful", "benign")]
    np.testing.assert_array_equal(estimate(asked) > 0.5, [True, False])
    with steered(model, Addition(1, away, 1.0)):
        assert (estimate(asked) > 0.5).all()
