import pandas as pd
import pytest

from aor_lib.analysis.comparisons import of_the_speaker, prompts_with_controls


def test_gender_and_rate_are_compared_without_angry_speech(answers):
    # Only angry speech is refused, and all of it is a man's.
    voice = {"gender": "female", "emotion": "neutral", "rate": "normal"}
    spoken = pd.concat(
        [
            answers(0, 10, **voice),
            answers(0, 10, **voice | {"gender": "male"}),
            answers(10, 10, **voice | {"gender": "male", "emotion": "angry"}),
        ]
    )
    compared = of_the_speaker(spoken).set_index("level")
    assert compared.loc["angry", "difference"] == 1
    assert compared.loc["male", "difference"] == 0
    assert compared.loc["angry", "p_holm"] == pytest.approx(2 * compared.loc["angry", "p_value"])


def test_a_prompt_is_compared_with_its_own_control_and_not_with_no_prompt(answers):
    arms = {"none": 10, "a": 2, "a.control": 8, "b": 5, "b.control": 5}
    compared = pd.concat([answers(n, 10, mitigation=name) for name, n in arms.items()])
    differences = prompts_with_controls(compared).set_index("prompt")["difference"]
    assert differences.to_dict() == pytest.approx({"a": -0.6, "b": 0})
