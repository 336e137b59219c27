import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis.power_simulation import SIZES, false_alarms, recovery_by_size


@pytest.fixture
def noisy():
    """Make differences of utterances that change sides by chance, and by ``shift``."""

    def make(utterances, shift=0.0, effect="nothing"):
        rng = np.random.default_rng(3)
        values = rng.choice([-1.0, 0.0, 1.0], utterances, p=[0.25 - shift, 0.5, 0.25 + shift])
        frame = pd.DataFrame({"difference": values, "utterance_id": np.arange(utterances)})
        return frame.assign(model="ref-contextual", comparison="scene", known_effect=effect)

    return make


def test_studies_without_an_effect_find_one_as_seldom_as_an_interval_promises(noisy):
    # The measured differences lean to one side; which answer came first is drawn anew.
    (row,) = false_alarms(noisy(60, shift=0.2), studies=600).to_dict("records")
    assert row["low"] <= 0.05
    assert 0.005 < row["rate"] < 0.08


def test_larger_studies_recover_more_often(noisy):
    sizes = recovery_by_size(noisy(60, shift=0.2, effect="more"), studies=150)
    assert list(sizes["utterances"]) == list(SIZES)
    assert sizes["rate"].iloc[0] < 0.3
    assert sizes["rate"].iloc[-1] > 0.9
    assert set(sizes["measured"]) == {60}


def test_a_known_effect_is_no_false_alarm_and_a_control_is_not_recovered(noisy):
    assert false_alarms(noisy(20, effect="less")).empty
    assert recovery_by_size(noisy(20)).empty
    assert false_alarms(noisy(3)).empty
