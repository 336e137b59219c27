import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis import simulated_models
from aor_lib.analysis.scene_use import from_benign_scene, scene_use


@pytest.mark.parametrize(
    ("model", "utterances", "verdict"),
    [
        ("ignoring", 200, "none shown"),
        ("understanding", 200, "uses it"),
        ("understanding", 6, "cannot tell"),
        ("lulled by any scene", 200, "any scene"),
        ("alarmed by sound", 200, "refuses less elsewhere"),
    ],
)
def test_a_model_is_seen_for_what_it_is_where_the_effect_and_the_study_are_large(
    model, utterances, verdict
):
    moved = simulated_models.MODELS[model]
    trials = simulated_models.simulate(moved, 0.4, utterances, np.random.default_rng(2))
    assert scene_use(from_benign_scene(trials)) == verdict


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
