"""Directions, refusal odds, gates and choices, on numbers whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from aor_lib.steering.scan import (
    REQUESTS,
    gentlest,
    layers_to_refine,
    layers_to_scan,
    some_of_each_kind,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aor_lib.steering import SteeringError
from aor_lib.steering.activations import Recorded
from aor_lib.steering.candidates import Requests, candidates
from aor_lib.steering.choice import best, gate_threshold
from aor_lib.steering.directions import (
    along_probe,
    difference_in_means,
    probe,
    random_like,
    without,
)
from aor_lib.steering.gates import hold_out
from aor_lib.steering.refusal_odds import RefusalOdds, learn_refusal_odds

RNG = np.random.default_rng(0)
WIDTH = 16


def two_clouds(number: int, apart: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows around the origin and, for the second half, around ``apart``."""
    second = np.arange(number) >= number // 2
    rows = np.random.default_rng(1).normal(0, 0.1, (number, len(apart)))
    return (rows + np.outer(second, apart)).astype(np.float32), second


def test_the_difference_in_means_leads_from_one_mean_to_the_other():
    apart = RNG.normal(size=WIDTH)
    rows, refused = two_clouds(400, apart)
    direction = difference_in_means(rows, refused, ~refused)
    assert direction.dtype == np.float32
    np.testing.assert_allclose(direction, apart, atol=0.05)
    left = rows[refused] - direction
    np.testing.assert_allclose(left.mean(axis=0), rows[~refused].mean(axis=0), atol=1e-6)
    with pytest.raises(ValueError, match="no request was refused"):
        difference_in_means(rows, refused & ~refused, ~refused)


vectors = arrays(np.float32, WIDTH, elements=st.floats(-8, 8, width=16))


@settings(deadline=None)
@given(vectors, vectors.filter(lambda v: np.abs(v).max() > 0.1), st.floats(0, 1))
def test_a_share_of_the_component_along_another_direction_is_taken_out(one, other, lam):
    left = without(one, other, lam)
    unit = other / np.linalg.norm(other)
    assert left @ unit == pytest.approx((1 - lam) * (one @ unit), abs=1e-3)
    across = left - (left @ unit) * unit
    np.testing.assert_allclose(across, one - (one @ unit) * unit, atol=1e-3)


def test_a_probe_tells_classes_apart_that_differ_where_others_vary_more():
    apart = np.eye(WIDTH)[0]
    rows, refused = two_clouds(200, apart)
    rows[:, 1] += RNG.normal(0, 50, 200)
    normal, intercept = probe(rows, refused)
    assert ((rows @ normal + intercept > 0) == refused).mean() > 0.95
    along = along_probe(rows, refused, ~refused)
    assert np.abs(along[0]) > 10 * np.abs(along[1])
    means = difference_in_means(rows, refused, ~refused)
    assert along @ along == pytest.approx(means @ along, rel=1e-3)


def test_random_directions_are_as_long_and_follow_from_the_seed():
    direction = RNG.normal(size=400).astype(np.float32)
    one, same, other = (random_like(direction, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    lengths = [np.linalg.norm(vector) for vector in (one, other)]
    assert lengths == pytest.approx([np.linalg.norm(direction)] * 2, rel=1e-5)
    assert abs(one @ direction) < 0.2 * (direction @ direction)
    assert abs(one @ other) < 0.2 * (direction @ direction)


def requests(number: int = 60) -> Requests:
    """A third harmful: the third dimension says so; refused where the first is high."""
    rng = np.random.default_rng(2)
    rows = rng.normal(0, 0.1, (number, 3, WIDTH)).astype(np.float32)
    harmful = np.arange(number) % 3 == 0
    benign = np.arange(number) % 3 == 1
    rows[:, 1, 2] += harmful
    rows[:, :, 0] += ~benign[:, None]
    logits = np.stack([4 * rows[:, 2, 0] - 2, 2 - 4 * rows[:, 2, 0]], axis=1)
    names = [f"s{n}" for n in range(number)]
    recorded = Recorded(rows, logits.astype(np.float32))
    return Requests(names, [()] * number, recorded, ~harmful & ~benign, harmful, ~benign)


def test_the_false_refusal_direction_is_orthogonal_to_the_true_one_at_share_1():
    asked = requests()
    found = {(one.method, one.lam): one for one in candidates(asked, 1)}
    rows = asked.at(1)
    harmless = ~asked.refused
    true = difference_in_means(rows, asked.harmful, harmless)
    whole, half = (found["false_refusal_ablation", lam].intervention for lam in (1.0, 0.5))
    unit = true / np.linalg.norm(true)
    assert whole.direction @ unit == pytest.approx(0, abs=1e-5)
    assert half.direction @ unit > 0.1
    assert found["difference_in_means", None].at(-2.0).coefficient == -2.0
    assert len({one.name for one in found.values()}) == len(found)


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
    logits = np.tile(np.eye(4, dtype=np.float32)[1], (10, 1))
    with pytest.raises(SteeringError, match="nothing to steer by"):
        learn_refusal_odds(logits, np.arange(10) < 5)


def test_certain_odds_are_finite():
    odds = RefusalOdds((0,), 1.0, 0.0)
    assert odds.probability(np.array([1e4, 0.0], np.float32)) == pytest.approx(1)
    assert odds.probability(np.array([-1e4, 0.0], np.float32)) == pytest.approx(0)


def test_gates_are_weighed_by_families_that_they_have_not_seen():
    asked = requests()
    families = [f"f{n // 3}" for n in range(60)]
    held_out = hold_out(asked, families, [0, 1, 2])
    assert held_out.separation[1] > 0.95
    assert held_out.best_layer(2) == 1
    assert held_out.best_layer(0) == 0
    assert abs(held_out.separation[0] - 0.5) < 0.25
    assert not np.isnan(held_out.scores[1]).any()
    # Each family has rows that only it explains: a gate that has seen them knows them by heart.
    by_heart = np.random.default_rng(5).normal(size=(20, 200)).repeat(3, axis=0)
    rows = np.repeat(by_heart[:, None], 3, axis=1).astype(np.float32)
    same = Requests(
        *(asked.stimuli, asked.conversations, Recorded(rows, asked.recorded.logits)),
        *(asked.pseudo_harmful, asked.harmful, asked.refused),
    )
    assert abs(hold_out(same, families, [0]).separation[0] - 0.5) < 0.3
    assert hold_out(asked, ["one"] * 60, [0]) is None


POINTS = pd.DataFrame(
    {
        "orr": [0.9, 0.5, 0.2, 0.1, 0.05],
        "hrr": [0.9, 0.85, 0.8, 0.3, 0.2],
        "layer": [1, 1, 2, 3, 3],
        "coefficient": [-0.5, -1.0, -1.0, -1.5, -2.0],
    }
)


def test_the_least_over_refusal_within_the_loss_is_best():
    assert best(POINTS, hrr=0.9, max_hrr_loss=0.1).index.tolist() == [2, 1, 0, 3, 4]
    assert best(POINTS, hrr=0.9, max_hrr_loss=0.05).index[0] == 1
    lost = best(POINTS, hrr=1.5, max_hrr_loss=0.05)
    assert not lost["within"].any()
    assert lost.index[0] == 2, "the one that keeps the two kinds apart most"
    equal = pd.DataFrame({"orr": [0.2, 0.2], "hrr": [0.85, 0.9]})
    assert best(equal, hrr=0.9, max_hrr_loss=0.1).index.tolist() == [1, 0]


def test_layers_and_coefficients_to_look_at():
    assert layers_to_refine(POINTS) == [2, 3]
    assert gentlest(POINTS) == 2, "a stronger one does little more"
    assert layers_to_scan(2) == [0, 1]
    spaced = layers_to_scan(30)
    assert spaced == [9, 12, 16, 19, 22]


def test_an_estimate_is_made_on_as_many_utterances_as_can_be():
    asked = pd.DataFrame(
        [
            (intent, f"{intent}{n}", condition)
            for intent, number in (("pseudo_harmful", 60), ("harmful", 5), ("benign", 9))
            for n in range(number)
            for condition in ("matched", "matched", "noise")
        ],
        columns=["intent", "utterance_id", "condition"],
    )
    chosen = asked.iloc[some_of_each_kind(asked, ["matched"])]
    counts = chosen.groupby("intent")["utterance_id"].agg(["size", "nunique"])
    assert counts.loc["pseudo_harmful"].tolist() == [REQUESTS, REQUESTS]
    assert counts.loc["harmful"].tolist() == [REQUESTS, 5]
    assert set(chosen["condition"]) == {"matched"}


def test_a_gates_threshold_keeps_the_loss_within_its_limit():
    pseudo_harmful = np.arange(200) < 100
    rng = np.random.default_rng(4)
    scores = np.where(pseudo_harmful, 1.0, -1.0) + rng.normal(0, 0.7, 200)
    refused, steered = np.ones(200, bool), np.zeros(200, bool)

    def under(loss: float) -> tuple[float, float]:
        threshold = gate_threshold(scores, pseudo_harmful, refused, steered, loss)
        answered = np.where(scores > threshold, steered, refused)
        return answered[pseudo_harmful].mean(), answered[~pseudo_harmful].mean()

    orr, hrr = under(0.1)
    assert hrr >= 0.9
    assert orr == (scores[pseudo_harmful] <= np.sort(scores[~pseudo_harmful])[-11]).mean()
    assert under(0.0)[1] == 1
    assert under(1.0)[0] == 0


def test_a_gate_opens_no_wider_than_it_must():
    scores = np.array([3.0, 2.0, 1.0, 0.0, -1.0])
    pseudo_harmful = np.array([True, False, True, True, False])
    refused, steered = np.ones(5, bool), np.array([False, True, True, True, True])
    threshold = gate_threshold(scores, pseudo_harmful, refused, steered, max_hrr_loss=0.5)
    assert threshold == 2.5
