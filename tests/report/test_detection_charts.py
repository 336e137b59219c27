"""The trade-off between over-refusal and harmful refusal."""

import json
import re

import numpy as np
import pandas as pd

from aor_lib.report.detection_charts import moves, tradeoff
from tests.report.conftest import inside, rates_of, rows_of


def arms(**rates):
    """Rates of one model, from its over-refusal by the arm."""
    frames = [rates_of({"m": (rate, 0.1)}, mitigation=arm) for arm, rate in rates.items()]
    return pd.concat(frames).drop(columns="model")


def test_the_tradeoff_is_drawn_with_intervals_both_ways():
    figure = tradeoff(rates_of({"m": (0.1, 0.9)}), title="T")
    fields = set(re.findall(r'"field": "(\w+)"', json.dumps(figure.spec["layer"])))
    assert {"orr_low", "orr_high", "hrr_low", "hrr_high"} <= fields
    assert "10.0%" in figure.alt_text


def test_a_pair_with_a_rate_that_nobody_judged_is_not_drawn():
    rates = rates_of({"m": (0.1, np.nan), "n": (0.1, 0.9)})
    assert [row["model"] for row in rows_of(tradeoff(rates, title="T"))] == ["n"]


def test_an_arrow_leads_from_no_mitigation_to_every_other_arm():
    figure = moves(arms(none=0.1, a=0.2, b=0.3), "mitigation", title="T")
    ends = {(row["mitigation"], row["width"]): row["orr"] for row in inside(figure, "arrows")}
    assert ends == {("A", 0): 0.1, ("A", 1): 0.2, ("B", 0): 0.1, ("B", 1): 0.3}


def test_without_a_pair_of_rates_there_is_a_note():
    assert "A title" in tradeoff(rates_of({}), title="A title").markdown
    assert "A title" in moves(arms(none=np.nan), "mitigation", title="A title").markdown
