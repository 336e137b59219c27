"""Estimates of how likely a model is to refuse."""

from pathlib import Path

import numpy as np
import pytest

from aor_lib.judge import JUDGES
from aor_lib.models.base import Answer, Turn
from aor_lib.steering import SteeringError
from aor_lib.steering.estimates import by_beginning, learn_refusal_odds
from aor_lib.steering.interventions import Addition, steered

ASKED = [
    (Turn("user", audio=Path(f"{intent}.{number}.flac")),)
    for intent in ("harmful", "benign")
    for number in range(4)
]
REFUSED = np.arange(8) < 4


def test_beginnings_of_answers_are_judged_under_what_the_model_is_steered_by(steerable, away):
    model = steerable()
    estimate = by_beginning(model, JUDGES["speech-acts"], ASKED, REFUSED, 40)
    np.testing.assert_array_equal(estimate(ASKED) > 0.5, REFUSED)
    with steered(model, Addition(1, away, 1.0)):
        assert (estimate(ASKED) > 0.5).all()


def test_a_beginning_is_as_long_as_it_takes_to_tell_refusals(steerable):
    class Slow(steerable):
        """Says the same words first, so that twelve tokens of an answer tell nothing."""

        asked_for = ()

        def answer(self, conversations, generation):
            self.asked_for += (generation.max_new_tokens,)
            preamble = " ".join(["You ask me this over the sound of a game."] * 2).split()
            return [
                Answer(" ".join((preamble + one.text.split())[: generation.max_new_tokens]), 10)
                for one in super().answer(conversations, generation)
            ]

    slow = Slow()
    estimate = by_beginning(slow, JUDGES["speech-acts"], ASKED, REFUSED, 96)
    assert slow.asked_for == (12, 24, 48)
    assert estimate(ASKED)[REFUSED].min() > estimate(ASKED)[~REFUSED].max()


def test_a_model_whose_beginnings_tell_nothing_is_not_estimated(steerable):
    class Mute(steerable):
        def answer(self, conversations, generation):
            return [Answer("You ask me this over the sound of a game.", 10) for _ in conversations]

    with pytest.raises(SteeringError, match="steerable: the first 20 tokens"):
        by_beginning(Mute(), JUDGES["speech-acts"], ASKED, REFUSED, 20)


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
        assert learn_refusal_odds(logits, np.arange(10) < 5) is None
