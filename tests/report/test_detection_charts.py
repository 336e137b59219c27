"""The trade-off between over-refusal and harmful refusal."""

import json
import re

import pandas as pd
import pytest

from aor_lib.report.detection_charts import moves, pairs, tradeoff
from tests.report.conftest import inside, rows_of

MODELS = ("ref-permissive", "ref-contextual")


@pytest.fixture
def rates():
    """Rates of two models by intent, under each of two mitigations."""
    keys = pd.MultiIndex.from_product(
        [MODELS, ["none", "context_reminder"], ["benign", "harmful", "pseudo_harmful"]],
        names=["model", "mitigation", "intent"],
    )
    estimate = {"trials": 10, "rate": 0.1, "low": 0.02, "high": 0.4}
    return keys.to_frame(index=False).assign(**estimate)


@pytest.fixture
def one(rates):
    """Those of one model alone."""
    return rates[rates["model"] == MODELS[0]].drop(columns="model")


def test_the_tradeoff_is_drawn_with_intervals_both_ways(rates):
    figure = tradeoff(rates[rates["mitigation"] == "none"].drop(columns="mitigation"), title="T")
    fields = set(re.findall(r'"field": "(\w+)"', json.dumps(figure.spec["layer"])))
    assert {"orr_low", "orr_high", "hrr_low", "hrr_high"} <= fields
    assert "10.0%" in figure.alt_text


def test_a_pair_with_a_rate_that_nobody_judged_is_not_drawn(rates):
    rates = rates[rates["mitigation"] == "none"].drop(columns="mitigation")
    rates.loc[(rates["model"] == MODELS[0]) & (rates["intent"] == "harmful"), "rate"] = None
    assert pairs(rates).set_index("model")["hrr"].isna().to_dict() == {
        MODELS[0]: True,
        MODELS[1]: False,
    }
    assert [row["model"] for row in rows_of(tradeoff(rates, title="T"))] == [MODELS[1]]


def test_an_arrow_leads_from_no_mitigation_to_every_other_arm(one):
    one = one[one["mitigation"] == "none"]
    arms = [one.assign(mitigation=arm, rate=rate) for arm, rate in (("a", 0.2), ("b", 0.3))]
    figure = moves(pd.concat([one, *arms]), "mitigation", title="T")
    ends = {(row["mitigation"], row["width"]): row["orr"] for row in inside(figure, "arrows")}
    assert ends == {("A", 0): 0.1, ("A", 1): 0.2, ("B", 0): 0.1, ("B", 1): 0.3}


def test_the_legend_tells_arms_apart_that_lie_on_top_of_each_other(one):
    encoded = moves(one, "mitigation", title="T").spec["layer"][-1]["encoding"]
    for channel in ("color", "shape"):
        scale = encoded[channel]["scale"]
        assert len(scale["domain"]) == len(set(scale["range"])) == 2


def test_without_a_pair_of_rates_there_is_a_note(rates):
    assert "A title" in tradeoff(rates.head(0), title="A title").markdown
    assert "A title" in moves(rates.head(0), "mitigation", title="A title").markdown
