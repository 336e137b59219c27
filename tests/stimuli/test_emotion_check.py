import pandas as pd

from aor_lib.stimuli.emotion_check import MIN_CLIPS, emotion_changes, emotion_violations


def angry_beside_neutral(stated_db, measured_db):
    """A manifest and its measurements: angry and neutral clips, apart by a level."""
    rows = [
        {
            "stimulus_id": f"{number}-{emotion}",
            "utterance_id": f"kitchen-ph-{number:03}",
            **{"voice": "af_heart", "rate": "normal", "block": "core", "emotion": emotion},
            "loudness_lufs": -23.0 + angry * stated_db,
            "speech_dbfs": -22.0 + angry * measured_db,
            "f0_mean_st": 4.0 * angry,
            "f0_range_st": 1.5 if angry else 1.0,
            "speech_s": 0.87 if angry else 1.0,
            "tilt_db_per_octave": 2.0 * angry,
        }
        for number in range(MIN_CLIPS)
        for emotion, angry in (("neutral", 0), ("angry", 1))
    ]
    table = pd.DataFrame(rows)
    described = ["utterance_id", "voice", "rate", "block", "emotion", "loudness_lufs"]
    return table[["stimulus_id", *described]], table.drop(columns=described)


def test_a_level_must_be_the_stated_one_which_the_limit_of_the_peak_may_hold_down():
    held_down = emotion_changes(*angry_beside_neutral(stated_db=4.0, measured_db=3.8))
    assert list(emotion_violations(held_down)) == []
    level = held_down.set_index("measure").loc["speech_dbfs"]
    assert (level["asked"], round(level["measured"], 1)) == (4.0, 3.8)
    louder = emotion_changes(*angry_beside_neutral(stated_db=6.0, measured_db=3.8))
    assert list(emotion_violations(louder)) == [
        "emotion angry: speech_dbfs: changed by 3.80 (median of 8 clips), 6.00 was asked for"
    ]
