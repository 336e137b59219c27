import json
import re

import pandas as pd

from aor_lib.report.detection_charts import D_PRIMES, pairs, tradeoff

MODELS = ("ref-permissive", "ref-contextual")


def by_intent(**columns):
    intents = ["benign", "harmful", "pseudo_harmful"]
    rows = len(MODELS) * len(intents)
    estimate = {"trials": 10, "judged": 10, "refused": 1, "rate": 0.1, "low": 0.02, "high": 0.4}
    return pd.DataFrame(
        {
            "model": [model for model in MODELS for _ in intents],
            **{name: [value] * rows for name, value in columns.items()},
            "intent": intents * len(MODELS),
            **{name: [value] * rows for name, value in estimate.items()},
        }
    )


def test_the_tradeoff_is_drawn_with_intervals_both_ways():
    spec = tradeoff(by_intent()).to_dict()  # altair validates against the Vega-Lite schema
    fields = set(re.findall(r'"field": "(\w+)"', json.dumps(spec["layer"])))
    assert {"orr_low", "orr_high", "hrr_low", "hrr_high"} <= fields
    assert spec["width"] == "container"


def test_the_tradeoff_names_its_lines_of_equal_sensitivity_apart_from_its_numbers():
    spec = tradeoff(by_intent()).to_dict()
    inline = {layer["data"]["name"]: layer["data"]["values"] for layer in spec["layer"][:3]}
    assert [row["label"] for row in inline["labels"]] == [f"d\N{PRIME} = {d}" for d in D_PRIMES]
    assert {row["d_prime"] for row in inline["iso_d_prime"]} == set(D_PRIMES)
    (numbers,) = spec["datasets"].values()
    assert len(numbers) == len(MODELS)


def test_a_model_has_a_point_for_each_mitigation_with_titles_for_both():
    names = {"context_reminder": "Reminded", MODELS[0]: "The permissive one"}
    rates = pd.concat([by_intent(mitigation=name) for name in ("none", "context_reminder")])
    spec = tradeoff(rates, shape="mitigation", names=names).to_dict()
    (numbers,) = spec["datasets"].values()
    assert {(row["model"], row["mitigation"]) for row in numbers} == {
        (model, mitigation)
        for model in ("The permissive one", MODELS[1])
        for mitigation in ("No mitigation", "Reminded")
    }


def test_a_rate_that_nobody_judged_is_missing_from_a_pair_and_the_pair_is_not_drawn():
    rates = by_intent()
    rates.loc[(rates["model"] == MODELS[0]) & (rates["intent"] == "harmful"), "rate"] = None
    found = pairs(rates).set_index("model")
    assert found["hrr"].isna().to_dict() == {MODELS[0]: True, MODELS[1]: False}
    (numbers,) = tradeoff(rates).to_dict()["datasets"].values()
    assert [row["model"] for row in numbers] == [MODELS[1]]
