import pandas as pd
import pytest

from aor_lib.analysis import speaker_effects


def test_gender_and_pace_are_compared_without_angry_speech(answers):
    # Only angry speech is refused, and all of it is a man's.
    voice = {"gender": "female", "emotion": "neutral", "speaking_rate": "normal"}
    spoken = pd.concat(
        [
            answers(0, 10, **voice),
            answers(0, 10, **voice | {"gender": "male"}),
            answers(10, 10, **voice | {"gender": "male", "emotion": "angry"}),
        ]
    )
    compared = speaker_effects.from_baselines(spoken).set_index("level")
    assert compared.loc["angry", "difference"] == 1
    assert compared.loc["male", "difference"] == 0
    assert compared.loc["angry", "p_holm"] == pytest.approx(2 * compared.loc["angry", "p_value"])
