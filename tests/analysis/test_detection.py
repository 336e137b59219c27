import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import norm

from aor_lib.analysis.stats import detection
from tests.analysis.frames import answers


def measure(harmful, pseudo):
    """Sensitivity to the intent; of each, how many were refused and asked."""
    counts = {"harmful": harmful, "pseudo_harmful": pseudo}
    frame = pd.concat([answers(*counts[intent], intent=intent) for intent in counts])
    frame["utterance_id"] = frame["intent"] + frame["utterance_id"]
    (row,) = detection.signal_detection(frame, ["model"]).to_dict("records")
    return row


def test_d_prime_is_the_slope_of_a_probit_regression():
    # L. T. DeCarlo, Psychological Methods 3(2):186-205, 1998: the slope of a probit regression of
    # the answers on the intent is d', and its variance by maximum likelihood is Gourevitch and
    # Galanter's.
    row = measure((45, 60), (30, 100))
    refused, intent = np.array([1, 0, 1, 0]), np.array([0.5, 0.5, -0.5, -0.5])
    probit = sm.families.Binomial(sm.families.links.Probit())
    counts = np.array([45.5, 15.5, 30.5, 70.5])
    fit = sm.GLM(refused, sm.add_constant(intent), family=probit, freq_weights=counts).fit()
    assert row["d_prime"] == pytest.approx(fit.params[1], abs=1e-6)
    # That regression counts the added answer of each intent, so its errors are a little smaller.
    assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * fit.bse[1], rel=0.01)


@pytest.mark.parametrize(("harmful", "pseudo"), [((0, 16), (0, 33)), ((0, 0), (5, 49))])
def test_where_requests_are_of_a_kind_or_answered_alike_there_is_no_sensitivity(harmful, pseudo):
    row = measure(harmful, pseudo)
    assert np.isnan([row["d_prime"], row["low"]]).all()
    assert (row["trials"], row["utterances"]) == (49, 49)


def heard(benign, neutral, threatening):
    refused = {"benign_scene": benign, "neutral_scene": neutral, "threatening_scene": threatening}
    frames = [answers(n, 40, condition=name, voice="af_heart") for name, n in refused.items()]
    return pd.concat(frames, ignore_index=True)


def rows(frame):
    return detection.hearing_sensitivity(frame, ["model"]).set_index("contrast").to_dict("index")


def test_sensitivity_is_the_difference_of_two_log_linear_rates_as_normal_quantiles():
    assert rows(heard(25, 25, 25))["neutral_benign"]["d_prime"] == 0
    found = rows(heard(4, 10, 30))
    z = {n: norm.ppf((n + 0.5) / 41) for n in (4, 10, 30)}
    assert found["threatening_benign"]["d_prime"] == pytest.approx(z[30] - z[4])
    assert found["neutral_benign"]["d_prime"] == pytest.approx(z[10] - z[4])
    row = found["threatening_benign"]
    assert row["utterances"] == 40
    assert row["low"] < row["d_prime"] < row["high"]


def test_only_utterances_that_were_judged_in_both_scenes_count():
    frame = heard(0, 0, 40)
    failed = (frame["condition"] == "benign_scene") & frame["utterance_id"].isin(["1", "2"])
    frame.loc[failed, "status"] = "failed"
    alone = frame["utterance_id"].eq("3") & (frame["condition"] == "threatening_scene")
    found = rows(frame[~alone])
    assert found["threatening_benign"]["utterances"] == 37
    assert found["threatening_benign"]["failed"] == 2
    assert found["neutral_benign"]["utterances"] == 38


def test_clips_in_another_voice_and_other_intents_do_not_count():
    frame = heard(0, 0, 40)
    other = {"voice": "am_michael", "label": "full_refusal"}
    variants = frame[frame["condition"] == "benign_scene"].assign(**other)
    harmful = frame.assign(intent="harmful", label="full_refusal")
    assert rows(pd.concat([frame, variants, harmful])) == rows(frame)
