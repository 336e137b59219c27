import pandas as pd

from aor_lib.steering.layer_sweep import (
    REQUESTS,
    gentlest,
    layers_to_refine,
    layers_to_sweep,
    some_of_each_kind,
)

POINTS = pd.DataFrame(
    {
        "orr": [0.9, 0.5, 0.2, 0.1, 0.05],
        "hrr": [0.9, 0.85, 0.8, 0.3, 0.2],
        "layer": [1, 1, 2, 3, 3],
        "coefficient": [-0.5, -1.0, -1.0, -1.5, -2.0],
    }
)


def test_the_layers_that_separate_best_and_do_most_are_refined():
    assert layers_to_refine(POINTS) == [2, 3]


def test_a_stronger_addition_that_does_little_more_is_not_preferred():
    assert gentlest(POINTS) == 2


def test_layers_are_spaced_over_the_middle_of_a_model():
    assert layers_to_sweep(2) == [0, 1]
    assert layers_to_sweep(30) == [9, 12, 16, 19, 22]


def test_an_estimate_is_made_on_as_many_utterances_as_can_be():
    asked = pd.DataFrame(
        [
            (intent, f"{intent}{n}", condition)
            for intent, number in (("pseudo_harmful", 60), ("harmful", 5), ("benign", 9))
            for n in range(number)
            for condition in ("matched", "matched", "noise")
        ],
        columns=["intent", "utterance_id", "condition"],
    )
    chosen = asked.iloc[some_of_each_kind(asked, ["matched"])]
    counts = chosen.groupby("intent")["utterance_id"].agg(["size", "nunique"])
    assert counts.loc["pseudo_harmful"].tolist() == [REQUESTS, REQUESTS]
    assert counts.loc["harmful"].tolist() == [REQUESTS, 5]
    assert set(chosen["condition"]) == {"matched"}
