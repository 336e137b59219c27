"""Every chart: valid, described, of titled series in fixed colours, and a note when empty."""

import re

import numpy as np
import pandas as pd
import pytest

from aor_lib.report import charts, matrices
from tests.report.conftest import rows_of

MODELS = ("ref-permissive", "ref-contextual")
NAMES = {MODELS[0]: "The permissive one"}


def by_condition():
    """Rates of two models in three conditions."""
    conditions = ["described", "benign_scene", "speech_only"]
    keys = pd.DataFrame({"model": np.repeat(MODELS, 3), "condition": conditions * 2})
    rates = {"rate": np.linspace(0.1, 0.3, 6), "low": 0.02, "high": 0.4}
    return keys.assign(trials=10, judged=10, refused=2, **rates)


def differences():
    keys = pd.DataFrame({"model": MODELS, "level": "benign_scene"})
    return keys.assign(difference=[-0.1, 0.0], low=-0.2, high=0.1)


HEARING = differences().rename(columns={"difference": "d_prime"})
KAPPAS = pd.DataFrame({"rater": ["judge"], "on": "All", "kappa": 0.8, "low": 0.7, "high": 0.9})
OVER_SNR = by_condition().assign(snr_db=[-3.0, 6.0, 12.0] * 2)
LABELS = pd.DataFrame({"human": ["a", "a", "b"], "judge": ["a", "b", "b"], "of": list("xxy")})
DRAWN = {
    "rates": (charts.forest, by_condition(), {"rows": "condition"}),
    "differences": (charts.forest, differences(), {"rows": "level"}),
    "sensitivities": (charts.forest, HEARING, {"rows": "level"}),
    "kappas": (charts.forest, KAPPAS, {"rows": "on", "colour": "rater"}),
    "dashes": (charts.dose_response, OVER_SNR, {"x": "snr_db", "dash": "condition"}),
    "histogram": (charts.histogram, OVER_SNR, {"column": "snr_db"}),
    "bars": (charts.bars, by_condition(), {"rows": "condition", "colour": "model"}),
    "heat_map": (matrices.heat_map, by_condition(), {"rows": ["model"], "column": "condition"}),
    "confusion": (matrices.confusion, LABELS, {"row": "human", "column": "judge", "by": "of"}),
}
AXES = {"confusion": {"row_axis": None, "column_axis": "Judge"}, "heat_map": {}}


def draw(kind, empty=False):
    """The figure of a kind, or the note that an empty frame gives."""
    chart, frame, arguments = DRAWN[kind]
    arguments = AXES.get(kind, {"axis": "A"}) | arguments
    return chart(frame.head(0) if empty else frame, title="A title", names=NAMES, **arguments)


@pytest.mark.parametrize("kind", DRAWN)
def test_a_figure_describes_itself_names_no_model_as_highest_and_is_a_note_where_empty(kind):
    figure = draw(kind)
    assert figure.spec["width"] == "container"
    assert figure.title.lower().endswith("a title")
    assert re.search(r"\d", figure.alt_text)
    assert figure.spec["description"] == figure.alt_text
    named = [model for model in (MODELS[1], *NAMES.values()) if model in figure.alt_text]
    assert not named or kind == "bars"  # which counts those of each
    assert "A title" in draw(kind, empty=True).markdown


def test_what_nobody_judged_is_not_drawn_as_a_rate():
    frame = by_condition()
    frame.loc[0, ["rate", "low", "high"]] = np.nan
    figure = charts.forest(frame, "condition", title="T", axis="A")
    assert len(rows_of(figure)) == len(frame) - 1


def test_what_is_said_of_some_rows_alone_is_missing_from_the_others():
    frame = differences().assign(prompt=pd.Series(["a prompt", np.nan], dtype=object))
    figure = charts.forest(frame, "level", title="T", axis="A")
    assert [row["prompt"] for row in rows_of(figure)] == ["a prompt", None]


def test_a_confusion_matrix_shows_shares_of_each_row_and_a_heat_map_counts():
    shares = {(row["row"], row["judge"]): row["rate"] for row in rows_of(draw("confusion"))}
    assert shares == {("X: A", "A"): 0.5, ("X: A", "B"): 0.5, ("Y: B", "B"): 1}
    assert {row["counts"] for row in rows_of(draw("heat_map"))} == {"2/10"}


def test_a_histogram_shows_shares_of_each_group():
    frame = pd.DataFrame({"intent": ["harmful"] * 10 + ["benign"] * 40, "value": np.arange(50.0)})
    figure = charts.histogram(frame, "value", by="intent", title="T", axis="A")
    shares = pd.DataFrame(rows_of(figure)).groupby("intent")["rate"].sum()
    assert shares.round(9).eq(1).all()


def test_bars_of_two_columns_count_each_pair_in_the_order_of_the_titles():
    answers = pd.concat([by_condition(), by_condition().head(1)]).assign(label="partial_refusal")
    rows = ["model", "condition"]
    figure = charts.bars(answers, rows, "label", title="T", axis="Answers", names=NAMES)
    drawn = {row["row"]: row["count"] for row in rows_of(figure)}
    conditions = ("Benign scene", "Speech only", "Scene described")
    bars = [f"The permissive one, {condition}" for condition in conditions]
    assert [drawn[bar] for bar in bars] == [1, 1, 2]
    assert [bar for bar in figure.spec["encoding"]["y"]["sort"] if bar in bars] == bars
