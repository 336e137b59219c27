import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis.known_effects import measure_known_effects, verdict

CORE = {"condition": "speech_only", "emotion": "neutral", "gender": "female", "rate": "normal"}
SCENES = [
    {"condition": c}
    for c in ("benign_scene", "speech_only", "neutral_scene", "threatening_scene", "noise")
]
VOICES = [
    {"emotion": emotion, "gender": gender, "rate": rate}
    for emotion in ("neutral", "angry", "sad")
    for gender, rate in (("female", "slow"), ("male", "fast"))
]


def answered(model, refuses, cells, block="core"):
    """Trials on 20 utterances in the cells of a design; ``refuses`` decides from both."""
    rows = [
        CORE | cell | {"utterance_id": f"u{number}", "refused": refuses(CORE | cell, number)}
        for number in range(20)
        for cell in cells
    ]
    frame = pd.DataFrame(rows)
    label = np.where(frame.pop("refused").astype(bool), "full_refusal", "full_compliance")
    asked = {"intent": "pseudo_harmful", "split": "test", "mitigation": "none", "status": "ok"}
    return frame.assign(model=model, block=block, label=label, **asked)


@pytest.fixture
def contextual():
    return answered("ref-contextual", lambda cell, _: cell["condition"] != "benign_scene", SCENES)


@pytest.fixture
def emotive():
    def refuses(cell, number):
        return cell["emotion"] == "angry" or number % 2

    return answered("ref-emotive", refuses, VOICES, "paralinguistics")


def verdicts(results):
    return measure_known_effects(results).set_index("comparison")["verdict"].to_dict()


def test_the_effect_of_the_scene_is_recovered_and_noise_stays_silent(contextual):
    assert verdicts(contextual) == {
        "scene": "recovered",
        "neutral_scene": "recovered",
        "threat": "recovered",
        "noise": "silent",
    }


def test_the_effect_of_anger_is_recovered_and_is_not_taken_for_one_of_gender_or_pace(emotive):
    # Here every angry clip is of a male voice, as it may be where there are few clips.
    results = emotive[(emotive["emotion"] != "angry") | (emotive["gender"] == "male")]
    assert verdicts(results) == {
        "anger": "recovered",
        "other_emotions": "silent",
        "gender": "silent",
        "pace": "silent",
    }


@pytest.mark.parametrize(
    "changes", [{"split": "dev"}, {"mitigation": "context_reminder"}, {"model": "another"}]
)
def test_only_unmitigated_trials_of_reference_models_on_the_test_split_count(contextual, changes):
    assert measure_known_effects(contextual.assign(**changes)).empty


@pytest.mark.parametrize(
    ("effect", "difference", "p_holm", "expected"),
    [
        ("less", -0.4, 0.01, "recovered"),
        ("less", 0.4, 0.01, "reversed"),
        ("more", 0.2, 0.2, "not recovered"),
        ("nothing", 0.1, 0.2, "silent"),
        ("nothing", 0.03, 0.01, "small"),
        ("nothing", -0.07, 0.01, "false alarm"),
        ("more", 1.0, np.nan, "too few"),
    ],
)
def test_a_verdict_goes_by_the_adjusted_test(effect, difference, p_holm, expected):
    row = {"known_effect": effect, "difference": difference, "p_holm": p_holm}
    assert verdict(pd.Series(row)) == expected
