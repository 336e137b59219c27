import json
import re

import pandas as pd
import pytest

from aor_lib.report import charts, style

MODELS = ("ref-permissive", "ref-contextual")


def rates(**columns):
    rows = len(next(iter(columns.values())))
    counts = {"trials": 10, "judged": 10, "refused": 1, "failed": 0, "unjudged": 0}
    estimate = {"utterances": 10, "rate": 0.1, "low": 0.02, "high": 0.4, "interval": "Wilson"}
    return pd.DataFrame({**columns, **{k: [v] * rows for k, v in (counts | estimate).items()}})


def by_condition():
    conditions = ["described", "matched", "speech_only"]
    return rates(model=[m for m in MODELS for _ in conditions], condition=conditions * 2)


def differences():
    return pd.DataFrame(
        {
            "model": list(MODELS),
            "level": ["matched"] * 2,
            "baseline": ["speech_only"] * 2,
            "utterances": [10, 10],
            "difference": [-0.1, 0.0],
            "low": [-0.2, -0.1],
            "high": [0.0, 0.1],
            "p_value": [0.5, 1.0],
            "p_holm": [1.0, 1.0],
        }
    )


CHARTS = {
    "rate_points": lambda: charts.rate_points(by_condition(), "condition", axis="Rate"),
    "difference_points": lambda: charts.difference_points(differences(), axis="Change"),
    "curve": lambda: charts.curve(
        rates(model=[MODELS[0]] * 2, snr_db=[0.0, 6.0]), "snr_db", title="SNR", axis="Rate"
    ),
    "histogram": lambda: charts.histogram(pd.Series([1.0, 2, 2, None]), axis="s", count="Clips"),
    "bars": lambda: charts.bars(
        pd.DataFrame({"scene": ["a", "b"], "intent": ["harmful", "benign"], "count": [1, 2]}),
        "scene",
        "intent",
        axis="Utterances",
        order=["benign", "harmful"],
    ),
}


def encoded_fields(spec):
    """Every column that some layer of a chart puts on a channel."""
    return set(re.findall(r'"field": "(\w+)"', json.dumps(spec.get("layer", [spec]))))


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_valid_and_as_wide_as_its_container(name):
    spec = CHARTS[name]().to_dict()  # altair validates against the Vega-Lite schema
    assert spec["width"] == "container"
    assert spec["config"]["background"] == "transparent"


@pytest.mark.parametrize("name", ["rate_points", "difference_points", "curve"])
def test_rates_and_differences_are_drawn_with_their_intervals(name):
    assert {"low", "high"} <= encoded_fields(CHARTS[name]().to_dict())


def test_a_model_keeps_its_colour_and_shape_whichever_models_stand_beside_it():
    def colours(models):
        spec = charts.rate_points(
            rates(model=models, condition=["matched"] * len(models)), "condition", axis="Rate"
        ).to_dict()
        scale = spec["layer"][0]["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    alone = colours(["some-model"])
    together = colours(["another-model", "some-model", *MODELS])
    assert together["some-model"] == alone["some-model"] == style.model_style("some-model")[0]
    assert len({style.model_style(model) for model in MODELS}) == len(MODELS)


def test_what_nobody_judged_is_not_drawn_as_a_rate():
    frame = by_condition()
    frame.loc[0, ["rate", "low", "high"]] = float("nan")
    (data,) = charts.rate_points(frame, "condition", axis="Rate").to_dict()["datasets"].values()
    assert len(data) == len(frame) - 1


def test_small_rates_do_not_fill_the_axis():
    frame = by_condition().assign(rate=0.001, low=0.0, high=0.004)
    spec = charts.rate_points(frame, "condition", axis="Rate").to_dict()
    domains = [layer["encoding"]["x"].get("scale", {}).get("domain") for layer in spec["layer"]]
    assert [0, 0.1] in domains


def test_conditions_stand_in_the_order_of_the_design():
    spec = CHARTS["rate_points"]().to_dict()
    order = spec["layer"][0]["encoding"]["y"]["sort"]
    assert order == ["Matched scene", "Speech only", "Scene described"]


def test_models_are_called_by_their_titles_and_keep_the_colours_of_their_ids():
    names = {MODELS[0]: "The permissive one"}
    spec = charts.rate_points(by_condition(), "condition", axis="Rate", names=names).to_dict()
    (data,) = spec["datasets"].values()
    assert {row["model"] for row in data} == {"The permissive one", MODELS[1]}
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["The permissive one"] == style.model_style(MODELS[0])[0]


def test_what_a_chart_compares_with_is_none_of_its_numbers():
    (data,) = CHARTS["difference_points"]().to_dict()["datasets"].values()
    assert len(data) == len(differences())
