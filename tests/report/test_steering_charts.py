"""Charts of steering's estimates."""

import pandas as pd
import pytest

from aor_lib.report import drawing, steering_charts
from tests.report.conftest import rows_of


@pytest.fixture
def sweep():
    rows = [
        ("none", None, None, 0.0, None, None, 0.9, 0.95),
        ("probe", "audio", 3, -1.0, None, None, 0.5, 0.8),
        ("probe", "audio", 6, -1.0, None, None, 0.6, 0.9),
        ("probe", "audio", 6, -2.0, None, None, 0.2, 0.4),
        ("probe", "text", 6, -1.0, None, None, 0.1, 0.1),
        ("sarsteer", "text", 6, -1.0, None, 10, 0.4, 0.7),
        ("sarsteer", "text", 6, -1.0, None, 1, 0.4, 0.7),
        ("sarsteer", "text", 6, 1.0, None, 10, 0.4, 0.7),
        ("false_refusal_ablation", "audio", 3, None, 0.5, None, 0.7, 0.8),
        ("false_refusal_ablation", "audio", 3, None, 1.0, None, 0.6, 0.9),
    ]
    columns = ["method", "source", "layer", "coefficient", "lam", "components", "orr", "hrr"]
    return pd.DataFrame(rows, columns=columns).assign(model="m")


def test_the_layer_sweep_shows_each_direction_once_and_both_rates(sweep):
    rows = rows_of(steering_charts.layer_sweep(sweep, title="T"))
    shown = {(row["method"], row["layer"], row["measure"]) for row in rows}
    assert len(rows) == len(shown) == 8
    assert ("Probe", 6, "Harmful refusal") in shown
    assert ("False refusal, ablated", 3, "Over-refusal") in shown


def test_a_sweep_of_coefficients_begins_without_steering(sweep):
    rows = rows_of(steering_charts.coefficient_sweep(sweep, title="T"))
    path = [(row["coefficient"], row["layer"]) for row in rows if row["method"] == "Probe"]
    assert sorted(path) == [(-2, 6), (-1, 6), (0, 6)]


@pytest.mark.parametrize("draw", [steering_charts.layer_sweep, steering_charts.coefficient_sweep])
def test_without_estimates_there_is_a_note(sweep, draw):
    assert "A title" in draw(sweep.head(0), title="A title").markdown


def test_the_comparison_of_sources_says_which_a_model_has_not():
    rows = [
        ("none", None, None, None, None, None, None, 0.9, 0.95, True),
        ("difference_in_means", "audio", "less", 9, -1.0, None, 1.0, 0.25, 0.9, False),
        ("sarsteer", "text", "more", 9, 0.5, 5, -0.125, 0.95, 1.0, True),
        ("difference_in_means", "audio_tokens", None, None, None, None, None, None, None, None),
    ]
    columns = ["method", "source", "goal", "layer", "coefficient", "components", "cosine"]
    found = pd.DataFrame(rows, columns=[*columns, "orr", "hrr", "within"])
    shown = steering_charts.compared(found, title="T")._repr_html_()
    assert "25.0%" in shown
    assert "SARSteer, 5 components" in shown
    assert shown.count("it has none") == 1
    assert "T" in steering_charts.compared(found.head(0), title="T").markdown


def test_each_model_has_a_chart_or_there_is_one_note(sweep, monkeypatch):
    shown = []
    monkeypatch.setattr(drawing, "display", shown.append)
    draw = steering_charts.layer_sweep
    two = pd.concat([sweep, sweep.assign(model="n")])
    drawing.for_each_model(draw, two, "Rates", {"m": "Model M"})
    assert [figure.title for figure in shown] == ["Rates: Model M", "Rates: n"]
    drawing.for_each_model(draw, sweep.head(0), "Rates", {})
    assert "Rates" in shown[-1].markdown
