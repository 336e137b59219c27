from dataclasses import replace

import numpy as np
import pytest

from aor_lib.steering.activations import Recorded
from aor_lib.steering.probing import CONTROLS, probe_layers

FAMILIES = [f"f{n // 3}" for n in range(60)]


@pytest.fixture
def utterances(requests):
    """The requests, each an utterance of its own."""
    return replace(
        requests, answers=requests.answers.assign(utterance_id=requests.answers["stimulus_id"])
    )


def test_a_layer_that_knows_what_is_harmful_stands_above_all_control_tasks(utterances):
    aucs = probe_layers(utterances, FAMILIES).set_index(["task", "layer"])
    assert aucs.loc[("harm", 1), "auc"] > max(0.95, aucs.loc[("control", 1), "high"])
    assert aucs.loc[("harm", 0), "auc"] == pytest.approx(0.5, abs=0.25)


def test_control_tasks_are_at_chance_where_every_family_is_known_by_heart(utterances):
    by_heart = np.random.default_rng(5).normal(size=(20, 1, 200)).repeat(3, axis=0)
    recorded = Recorded(by_heart.astype(np.float32), utterances.recorded.logits)
    aucs = probe_layers(replace(utterances, recorded=recorded), FAMILIES).set_index("task")
    assert aucs.loc["control", "auc"] == pytest.approx(0.5, abs=0.1)


def test_an_utterance_keeps_its_label_of_a_control_task_in_all_of_its_clips(
    utterances, monkeypatch
):
    clips = replace(
        utterances,
        answers=utterances.answers.assign(utterance_id=[f"u{n % 30}" for n in range(60)]),
    )
    dealt = []
    monkeypatch.setattr("aor_lib.steering.probing.folds", lambda label, of: dealt.append(label))
    monkeypatch.setattr(
        "aor_lib.steering.probing.held_out_scores", lambda rows, label, split: np.zeros(len(rows))
    )
    probe_layers(clips, FAMILIES)
    assert len(dealt) == 1 + CONTROLS
    assert len({label.tobytes() for label in dealt}) == len(dealt)
    for label in dealt:
        assert label.sum() == dealt[0].sum()
        np.testing.assert_array_equal(label[:20], label[20:])
