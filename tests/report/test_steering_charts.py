"""Charts of steering's estimates."""

import pandas as pd
import pytest

from aor_lib.report import steering_charts


@pytest.fixture
def sweep():
    rows = [
        ("none", None, 0.0, None, 0.9, 0.95),
        ("probe", 3, -1.0, None, 0.5, 0.8),
        ("probe", 6, -1.0, None, 0.6, 0.9),
        ("probe", 6, -2.0, None, 0.2, 0.4),
        ("false_refusal_ablation", 3, None, 0.5, 0.7, 0.8),
        ("false_refusal_ablation", 3, None, 1.0, 0.6, 0.9),
    ]
    columns = ["method", "layer", "coefficient", "lam", "orr", "hrr"]
    return pd.DataFrame(rows, columns=columns).assign(model="m")


def rows_of(figure):
    (rows,) = figure.spec["datasets"].values()
    return rows


def test_the_layer_sweep_shows_each_direction_once_and_both_rates(sweep):
    rows = rows_of(steering_charts.layer_sweep(sweep, title="T"))
    shown = {(row["method"], row["layer"], row["measure"]) for row in rows}
    assert len(rows) == len(shown) == 6
    assert ("Probe", 6, "Harmful refusal") in shown
    assert ("False refusal, ablated", 3, "Over-refusal") in shown


def test_a_sweep_of_coefficients_begins_without_steering(sweep):
    rows = rows_of(steering_charts.coefficient_sweep(sweep, title="T"))
    path = [(row["coefficient"], row["layer"]) for row in rows if row["method"] == "Probe"]
    assert sorted(path) == [(-2, 6), (-1, 6), (0, 6)]


@pytest.mark.parametrize("draw", [steering_charts.layer_sweep, steering_charts.coefficient_sweep])
def test_without_estimates_there_is_a_note(sweep, draw):
    assert "A title" in draw(sweep.head(0), title="A title").markdown


def test_each_model_has_a_chart_or_there_is_one_note(sweep, monkeypatch):
    shown = []
    monkeypatch.setattr(steering_charts, "display", shown.append)
    draw = steering_charts.layer_sweep
    two = pd.concat([sweep, sweep.assign(model="n")])
    steering_charts.for_each_model(draw, two, "Rates", {"m": "Model M"})
    assert [figure.title for figure in shown] == ["Rates: Model M", "Rates: n"]
    steering_charts.for_each_model(draw, sweep.head(0), "Rates", {})
    assert "Rates" in shown[-1].markdown
