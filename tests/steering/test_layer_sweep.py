import pandas as pd

from aor_lib.steering.layer_sweep import REQUESTS, some_of_each_kind


def test_an_estimate_is_made_on_as_many_utterances_as_can_be():
    asked = pd.DataFrame(
        [
            (intent, f"{intent}{n}", condition)
            for intent, number in (("pseudo_harmful", 60), ("harmful", 5), ("benign", 9))
            for n in range(number)
            for condition in ("benign_scene", "benign_scene", "noise")
        ],
        columns=["intent", "utterance_id", "condition"],
    )
    chosen = asked.iloc[some_of_each_kind(asked, ["benign_scene"])]
    counts = chosen.groupby("intent")["utterance_id"].agg(["size", "nunique"])
    assert counts.loc["pseudo_harmful"].tolist() == [REQUESTS, REQUESTS]
    assert counts.loc["harmful"].tolist() == [REQUESTS, 5]
    assert set(chosen["condition"]) == {"benign_scene"}
