from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from aor_lib.steering import choice
from aor_lib.steering.choice import best, gate_threshold, held_out_scores
from aor_lib.steering.residual_stream import Intervention

POINTS = pd.DataFrame({"orr": [0.9, 0.5, 0.2, 0.1, 0.05], "hrr": [0.9, 0.85, 0.8, 0.3, 0.2]})


def test_the_least_over_refusal_within_the_loss_is_best():
    assert best(POINTS, hrr=0.82).index.tolist() == [2, 1, 0, 3, 4]
    assert best(POINTS, hrr=0.87).index[0] == 1
    equal = pd.DataFrame({"orr": [0.2, 0.2], "hrr": [0.89, 0.9]})
    assert best(equal, hrr=0.9).index.tolist() == [1, 0]
    assert best(POINTS, hrr=1.5).index[0] == 2, "beyond the loss, it keeps both kinds apart most"


@pytest.mark.parametrize(("loss", "orr", "hrr"), [(0.0, None, 1.0), (0.1, None, 0.9), (1.0, 0, 0)])
def test_a_gates_threshold_keeps_the_loss_within_its_limit(loss, orr, hrr, monkeypatch):
    monkeypatch.setattr("aor_lib.steering.choice.MAX_HRR_LOSS", loss)
    pseudo_harmful = np.arange(200) < 100
    scores = np.where(pseudo_harmful, 1.0, -1.0) + np.random.default_rng(4).normal(0, 0.7, 200)
    refused, steered = np.ones(200, bool), np.zeros(200, bool)
    threshold = gate_threshold(scores, pseudo_harmful, refused, steered)
    answered = np.where(scores > threshold, steered, refused)
    if orr is None:  # the least that so many open gates allow
        lost = round(100 * loss)
        orr = (scores[:100] <= np.sort(scores[100:])[-1 - lost]).mean()
    assert answered[:100].mean() == orr
    assert answered[100:].mean() >= hrr


def test_a_missing_verdict_counts_against_the_candidate_with_and_without_a_gate(requests):
    unsteered = requests.answers.assign(status="ok", flags="[]")
    label = unsteered["label"].where(unsteered["intent"] == "harmful", "full_compliance")
    steered = unsteered.assign(label=label.mask(label.index < 3, "unjudged"))  # one of each intent
    scores = {1: np.where(requests.of_kind("pseudo_harmful"), 1.0, -1.0)}
    addition = Intervention(1, requests.at(1)[0], 1.0)
    _, gated = choice.behind_a_gate(addition, steered, unsteered, requests, scores)
    rates = pd.DataFrame([choice.arm_rates(steered), gated])
    assert rates["orr"].tolist() == [0.05, 0.05]
    assert rates["hrr"].tolist() == [0.95, 1.0]


def separation(requests, layer):
    kinds = requests.of_kind("pseudo_harmful")
    asked = kinds | requests.of_kind("harmful")
    scores = held_out_scores(requests, [layer])[layer]
    assert not np.isnan(scores).any()
    return roc_auc_score(kinds[asked], scores[asked])


def test_gates_tell_harmful_requests_apart_in_the_layer_that_knows_them(requests):
    assert separation(requests, 1) > 0.95
    assert abs(separation(requests, 0) - 0.5) < 0.25


def test_a_gate_is_evaluated_on_families_that_it_has_not_seen(requests):
    # Each family has rows that only it explains: a gate that has seen them knows them by heart.
    by_heart = np.random.default_rng(5).normal(size=(20, 1, 200)).repeat(3, axis=0)
    same = replace(requests, activations={"audio": by_heart.astype(np.float32)})
    assert abs(separation(same, 0) - 0.5) < 0.3
