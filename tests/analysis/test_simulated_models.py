import pandas as pd
import pytest

from aor_lib.analysis import simulated_models


def test_the_committed_table_covers_the_truth_and_raises_few_false_alarms():
    table = simulated_models.load()
    assert set(table["model"]) == set(simulated_models.MODELS)
    assert table["studies"].min() >= 2000
    assert table["coverage"].between(0.93, 0.97).all()
    assert table.loc[table["truth"] == 0, "told"].max() <= 0.05
    assert table["bias"].abs().max() <= 0.006  # four standard errors of 2,000 studies


@pytest.mark.nightly
@pytest.mark.timeout(3600)  # thousands of studies, on any machine
@pytest.mark.parametrize("model", simulated_models.MODELS)
def test_the_committed_table_is_what_the_code_measures(model):
    table = simulated_models.load()
    rows = table[table["model"] == model].reset_index(drop=True)
    pd.testing.assert_frame_equal(simulated_models.measure([model]), rows)
