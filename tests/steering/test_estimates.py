"""Estimates of how likely a model is to refuse."""

from pathlib import Path

import numpy as np
import pytest

from aor_lib.judge import JUDGES
from aor_lib.models.base import Turn
from aor_lib.steering import SteeringError
from aor_lib.steering.estimates import by_beginning, learn_refusal_odds
from aor_lib.steering.interventions import Addition, steered


def test_beginnings_of_answers_are_judged_under_what_the_model_is_steered_by(steerable, away):
    model = steerable()
    estimate = by_beginning(model, JUDGES["speech-acts"])
    asked = [(Turn("user", audio=Path(f"{name}.1.flac")),) for name in ("harmful", "benign")]
    np.testing.assert_array_equal(estimate(asked) > 0.5, [True, False])
    with steered(model, Addition(1, away, 1.0)):
        assert (estimate(asked) > 0.5).all()


def test_odds_of_a_refusal_follow_the_first_token():
    rng = np.random.default_rng(3)
    refused = rng.random(300) < 0.4
    logits = rng.normal(0, 0.5, (300, 50)).astype(np.float32)
    token = np.where(refused, rng.choice([3, 7], 300), rng.choice([1, 2, 9], 300))
    logits[np.arange(300), token] += 6
    odds = learn_refusal_odds(logits, refused)
    assert set(odds.tokens) == {3, 7}
    assert odds.probability(logits[refused]).min() > 0.8
    assert odds.probability(logits[~refused]).max() < 0.2
    by_hand = np.exp(logits[0].astype(float))
    share = by_hand[[3, 7]].sum() / by_hand.sum()
    assert odds.log_odds(logits[0]) == pytest.approx(np.log(share / (1 - share)), rel=1e-6)


def test_odds_cannot_be_learnt_where_all_answers_begin_alike():
    alike = np.tile(np.eye(4, dtype=np.float32)[1], (10, 1))
    mostly = np.where(np.arange(10)[:, None] < 8, *np.eye(4, dtype=np.float32)[1:3, None])
    for logits in (alike, mostly):
        with pytest.raises(SteeringError, match="their first words do not tell them"):
            learn_refusal_odds(logits, np.arange(10) < 5)
