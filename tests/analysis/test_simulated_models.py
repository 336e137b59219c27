import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis import simulated_models
from aor_lib.analysis.scene_use import from_benign_scene, scene_use


@pytest.mark.parametrize(
    ("model", "verdict"),
    [
        ("ignoring", "none shown"),
        ("understanding", "uses it"),
        ("lulled by any scene", "any scene"),
        ("distracted by noise", "refuses less elsewhere"),
        ("alarmed by sound", "refuses less elsewhere"),
    ],
)
def test_each_simulated_model_is_seen_for_what_it_is_where_the_effect_is_large(model, verdict):
    moved = simulated_models.MODELS[model]
    trials = simulated_models.simulate(moved, 0.4, 200, np.random.default_rng(2))
    assert scene_use(from_benign_scene(trials)) == verdict


def test_a_study_of_few_utterances_cannot_tell_whether_a_model_uses_the_scene():
    moved = simulated_models.MODELS["understanding"]
    trials = simulated_models.simulate(moved, 0.4, 6, np.random.default_rng(2))
    assert scene_use(from_benign_scene(trials)) == "cannot tell"


def test_the_committed_table_covers_the_truth_and_raises_few_false_alarms():
    table = simulated_models.load()
    assert set(table["model"]) == set(simulated_models.MODELS)
    assert table["studies"].min() >= 2000
    assert table["coverage"].between(0.93, 0.97).all()
    assert table.loc[table["truth"] == 0, "told"].max() <= 0.05
    assert table["bias"].abs().max() <= 0.006  # four standard errors of 2,000 studies


@pytest.mark.nightly
@pytest.mark.parametrize("model", simulated_models.MODELS)
def test_the_committed_table_is_what_the_code_measures(model):
    table = simulated_models.load()
    rows = table[table["model"] == model].reset_index(drop=True)
    pd.testing.assert_frame_equal(simulated_models.measure([model]), rows)
