"""Every chart: valid, described, of titled series in fixed colours, and a note when empty."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from aor_lib.report import charts, matrices, style
from tests.report.conftest import rows_of

MODELS = ("ref-permissive", "ref-contextual")
NAMES = {MODELS[0]: "The permissive one"}


@pytest.fixture
def by_condition():
    """Rates of two models in three conditions."""
    conditions = ["described", "benign_scene", "speech_only"]
    return pd.DataFrame(
        {
            "model": [model for model in MODELS for _ in conditions],
            "condition": conditions * 2,
            **{
                "trials": 10,
                "judged": 10,
                "refused": 2,
                "rate": np.linspace(0.1, 0.3, 6),
                "low": 0.02,
                "high": 0.4,
            },
        }
    )


@pytest.fixture
def differences():
    frame = pd.DataFrame(
        {"model": MODELS, "level": ["benign_scene"] * 2, "difference": [-0.1, 0.0]}
    )
    return frame.assign(low=frame["difference"] - 0.1, high=frame["difference"] + 0.1)


@pytest.fixture
def figures(by_condition, differences):
    """One figure of every kind, and the note that an empty frame gives."""
    hearing = differences.rename(columns={"difference": "d_prime"})
    kappas = pd.DataFrame({"rater": ["judge"], "on": ["All"], "kappa": [0.8]})
    over_snr = by_condition.assign(snr_db=[-3.0, 6.0, 12.0] * 2)
    labels = pd.DataFrame({"human": ["a", "a", "b"], "judge": ["a", "b", "b"], "of": list("xxy")})
    drawn = {
        "rates": (charts.forest, by_condition, {"rows": "condition"}),
        "differences": (charts.forest, differences, {"rows": "level"}),
        "sensitivities": (charts.forest, hearing, {"rows": "level"}),
        "kappas": (charts.forest, kappas.assign(low=0.7, high=0.9), {"rows": "on"}),
        "curve": (charts.dose_response, over_snr, {"x": "snr_db"}),
        "dashes": (charts.dose_response, over_snr, {"x": "snr_db", "dash": "condition"}),
        "histogram": (charts.histogram, over_snr, {"column": "snr_db"}),
        "heat_map": (matrices.heat_map, by_condition, {"rows": ["model"], "column": "condition"}),
        "bars": (charts.bars, by_condition, {"rows": "condition", "colour": "model"}),
        "confusion": (matrices.confusion, labels, {"row": "human", "column": "judge", "by": "of"}),
    }

    def draw(name, empty=False):
        chart, frame, arguments = drawn[name]
        axes = {"confusion": {"row_axis": None, "column_axis": "Judge"}, "heat_map": {}}
        axes = axes.get(name, {"axis": "A"})
        colour = {"colour": "rater"} if name == "kappas" else {}
        frame = frame.head(0) if empty else frame
        return chart(frame, title="A title", names=NAMES, **axes, **colour, **arguments)

    return draw


def scale_of(figure, channel="color"):
    found = re.search(
        rf'"{channel}": {{"field": "model", "scale": ({{.*?}})', json.dumps(figure.spec)
    )
    scale = json.loads(found.group(1))
    return dict(zip(scale["domain"], scale["range"], strict=True))


@pytest.mark.parametrize(
    "kind",
    [
        *("rates", "differences", "sensitivities", "kappas", "curve"),
        *("dashes", "histogram", "bars", "confusion", "heat_map"),
    ],
)
def test_a_figure_describes_itself_names_no_model_as_highest_and_is_a_note_where_empty(
    figures, kind
):
    figure = figures(kind)
    assert figure.spec["width"] == "container"
    assert figure.title.lower().endswith("a title")
    assert re.search(r"\d", figure.alt_text)
    assert figure.spec["description"] == figure.alt_text
    named = [model for model in (MODELS[1], *NAMES.values()) if model in figure.alt_text]
    assert not named or kind == "bars"  # which counts those of each
    assert "A title" in figures(kind, empty=True).markdown


def test_a_model_keeps_its_colour_and_shape_whichever_models_stand_beside_it(by_condition):
    def styles(*models):
        frame = by_condition.head(len(models)).assign(model=models)
        figure = charts.forest(frame, "condition", title="T", axis="A")
        return {part: scale_of(figure, part)["some-model"] for part in ("color", "shape")}

    assert styles("some-model") == styles("another-model", "some-model", MODELS[0])


def test_models_are_called_by_their_titles_and_keep_the_colours_of_their_ids(figures):
    colours = scale_of(figures("rates"))
    assert set(colours) == {row["model"] for row in rows_of(figures("rates"))}
    assert colours["The permissive one"] == style.model_style(MODELS[0])[0]
    assert MODELS[1] in colours


def test_what_nobody_judged_is_not_drawn_as_a_rate(by_condition):
    by_condition.loc[0, ["rate", "low", "high"]] = np.nan
    figure = charts.forest(by_condition, "condition", title="T", axis="A")
    assert len(rows_of(figure)) == len(by_condition) - 1


def test_what_is_said_of_some_rows_alone_is_missing_from_the_others(differences):
    frame = differences.assign(prompt=pd.Series(["a prompt", np.nan], dtype=object))
    figure = charts.forest(frame, "level", title="T", axis="A")
    assert [row["prompt"] for row in rows_of(figure)] == ["a prompt", None]


def test_a_confusion_matrix_shows_shares_of_each_row_and_a_heat_map_counts(figures):
    shares = {(row["row"], row["judge"]): row["rate"] for row in rows_of(figures("confusion"))}
    assert shares == {("X: A", "A"): 0.5, ("X: A", "B"): 0.5, ("Y: B", "B"): 1}
    assert {row["counts"] for row in rows_of(figures("heat_map"))} == {"2/10"}


def test_a_histogram_shows_shares_of_each_group():
    frame = pd.DataFrame({"intent": ["harmful"] * 10 + ["benign"] * 40, "value": np.arange(50.0)})
    figure = charts.histogram(frame, "value", by="intent", title="T", axis="A")
    shares = pd.DataFrame(rows_of(figure)).groupby("intent")["rate"].sum()
    assert shares.round(9).eq(1).all()


def test_bars_of_two_columns_count_each_pair_in_the_order_of_the_titles(by_condition):
    answers = pd.concat([by_condition, by_condition.head(1)]).assign(label="partial_refusal")
    figure = charts.bars(
        answers, ["model", "condition"], "label", title="T", axis="Answers", names=NAMES
    )
    drawn = {row["row"]: row["count"] for row in rows_of(figure)}
    assert drawn["The permissive one, Scene described"] == 2
    assert len(drawn) == 6
    order = figure.spec["encoding"]["y"]["sort"]
    assert [name for name in order if name.startswith("The permissive")] == [
        f"The permissive one, {condition}"
        for condition in ("Benign scene", "Speech only", "Scene described")
    ]


def test_the_numbers_under_a_chart_have_titles_intervals_and_counts(figures):
    html = figures("rates").html()
    for shown in ("<td>The permissive one</td>", "10.0%\N{NO-BREAK SPACE}(2.0%", "<td>10</td>"):
        assert shown in html
