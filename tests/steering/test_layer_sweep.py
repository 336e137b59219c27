import numpy as np
import pandas as pd
import pytest

from aor_lib.judge import JUDGES
from aor_lib.models.base import Answer, Failure
from aor_lib.steering import SteeringError
from aor_lib.steering.directions import Requests
from aor_lib.steering.layer_sweep import REQUESTS, learn_estimate, some_of_each_kind
from aor_lib.steering.residual_stream import Intervention, steered
from tests.steering.conftest import AWAY, Steerable, clips

ASKED = [*clips("harmful", 4), *clips("benign", 4)]
REFUSED = np.arange(8) < 4
LABELS = pd.DataFrame({"label": np.where(REFUSED, "full_refusal", "full_compliance")})
REQUESTED = Requests(LABELS, ASKED, {})
JUDGE = JUDGES["speech-acts"]


def test_an_estimate_is_made_on_as_many_utterances_as_possible():
    asked = pd.DataFrame(
        [
            (intent, f"{intent}{n}", condition)
            for intent, number in (("pseudo_harmful", 60), ("harmful", 5), ("benign", 9))
            for n in range(number)
            for condition in ("benign_scene", "benign_scene", "noise")
        ],
        columns=["intent", "utterance_id", "condition"],
    )
    chosen = asked.iloc[some_of_each_kind(asked)]
    counts = chosen.groupby("intent")["utterance_id"].agg(["size", "nunique"])
    assert counts.loc["pseudo_harmful"].tolist() == [REQUESTS, REQUESTS]
    assert counts.loc["harmful"].tolist() == [REQUESTS, 5]
    assert set(chosen["condition"]) == {"benign_scene"}


def test_estimates_are_of_the_model_as_it_is_steered():
    model = Steerable()
    estimate = learn_estimate(model, JUDGE, REQUESTED, 40)
    np.testing.assert_array_equal(estimate(ASKED) > 0.5, REFUSED)
    with steered(model, Intervention(1, AWAY, 1.0)):
        assert (estimate(ASKED) > 0.5).all()
    model.answer = lambda asked, generation: [Failure("empty answer") for _ in asked]
    assert np.isnan(estimate(ASKED)).all(), "neither refusals nor compliance"


def test_a_model_whose_beginnings_tell_nothing_is_not_estimated():
    mute, saying = Steerable(), Answer("You ask me this over the sound of a game.", 10)
    mute.answer = lambda asked, generation: [saying for _ in asked]
    with pytest.raises(SteeringError, match="first 20 tokens"):
        learn_estimate(mute, JUDGE, REQUESTED, 20)
