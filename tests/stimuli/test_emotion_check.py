from itertools import product

import pandas as pd
import pytest

from aor_lib.audio.speech import RATES
from aor_lib.stimuli.emotion_check import MIN_CLIPS, emotion_changes, emotion_violations


def changes(stated_db, measured_db, rate="normal"):
    """Changes of angry clips beside normal and slow neutral ones, apart by these levels."""
    spoken = product(range(MIN_CLIPS), ("neutral normal", "neutral slow", f"angry {rate}"))
    clips = pd.DataFrame(spoken, columns=["utterance_id", "manner"])
    clips[["emotion", "speaking_rate"]] = clips.pop("manner").str.split(expand=True)
    clips["stimulus_id"] = clips.index
    angry = clips["emotion"] == "angry"
    measured = clips[["stimulus_id"]].assign(
        speech_dbfs=measured_db * angry - 22.0,
        f0_mean_st=4.0 * angry - 9.0 * (clips["speaking_rate"] == "slow"),
        f0_range_st=1.0 + 0.5 * angry,
        speech_s=(1.0 - 0.13 * angry) / clips["speaking_rate"].map(RATES),
        tilt_db_per_octave=2.0 * angry,
    )
    manifest = clips.assign(voice="af_heart", block="core")
    return emotion_changes(manifest.assign(loudness_lufs=stated_db * angry - 23.0), measured)


def test_a_level_must_be_the_stated_one_which_the_limit_of_the_peak_may_hold_down():
    held_down = changes(stated_db=4.0, measured_db=3.8)
    assert list(emotion_violations(held_down)) == []
    level = held_down.set_index("measure").loc["speech_dbfs"]
    assert (level["asked"], round(level["measured"], 1)) == (4.0, 3.8)
    [violation] = emotion_violations(changes(stated_db=6.0, measured_db=3.8))
    assert "angry: speech_dbfs: changed by 3.80" in violation


@pytest.mark.parametrize("rate", RATES)
def test_the_neutral_clip_is_one_of_the_same_rate_or_else_brought_to_it(rate):
    at_rate = changes(stated_db=4.0, measured_db=4.0, rate=rate)
    assert list(emotion_violations(at_rate)) == []
    assert set(at_rate["clips"]) == {MIN_CLIPS}
