import pandas as pd
import pytest
from scipy.stats import norm

from aor_lib.analysis.stats import detection
from tests.analysis.frames import answers


def heard(benign, neutral, threatening):
    refused = {"benign": benign, "neutral": neutral, "threatening": threatening}
    frames = [
        answers(n, 40, condition=f"{kind}_scene", voice="af_heart") for kind, n in refused.items()
    ]
    return pd.concat(frames, ignore_index=True)


def rows(frame):
    table = detection.hearing_sensitivity(frame, ["model"])
    return table.set_index("contrast").to_dict("index")


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
    variants = frame[frame["condition"] == "benign_scene"].assign(
        voice="am_michael", label="full_refusal"
    )
    harmful = frame.assign(intent="harmful", label="full_refusal")
    assert rows(pd.concat([frame, variants, harmful])) == rows(frame)
