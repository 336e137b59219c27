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
    for emotion in ("neutral", "angry", "happy")
    for gender, rate in (("female", "normal"), ("male", "fast"))
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
    measured = measure_known_effects(results)
    names = measured["comparison"].str.replace(" \N{MINUS SIGN} ", "-")
    return dict(zip(names, measured["verdict"], strict=True))


def test_every_comparison_of_the_context_chapter_is_held_against_what_was_planted(contextual):
    assert verdicts(contextual) == {
        "speech_only-benign_scene": "recovered",
        "neutral_scene-benign_scene": "recovered",
        "noise-benign_scene": "recovered",
        "threatening_scene-benign_scene": "recovered",
        "neutral_scene-speech_only": "silent",
        "threatening_scene-speech_only": "silent",
        "noise-speech_only": "silent",
    }


def test_a_model_that_answers_more_over_any_scene_is_reported_as_unexpected():
    def lulled(cell, number):
        return cell["condition"] in ("speech_only", "noise", "threatening_scene")

    found = verdicts(answered("ref-contextual", lulled, SCENES))
    assert found["neutral_scene-speech_only"] == "unexpected"
    assert found["neutral_scene-benign_scene"] == "not recovered"


def test_the_effect_of_anger_is_recovered_and_is_not_taken_for_one_of_gender_or_pace(emotive):
    # Here every angry clip is of a male voice, as it may be where there are few clips.
    results = emotive[(emotive["emotion"] != "angry") | (emotive["gender"] == "male")]
    assert verdicts(results) == {
        "angry-neutral": "recovered",
        "happy-neutral": "silent",
        "male-female": "silent",
        "fast-normal": "silent",
    }


def test_each_emotion_is_a_comparison_of_its_own():
    def refuses(cell, number):
        return cell["emotion"] == "happy"

    found = verdicts(answered("ref-emotive", refuses, VOICES, "paralinguistics"))
    assert (found["happy-neutral"], found["angry-neutral"]) == ("unexpected", "not recovered")


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
        ("nothing", 0.03, 0.01, "unexpected"),
        ("more", 1.0, np.nan, "too few"),
    ],
)
def test_a_verdict_goes_by_the_adjusted_test(effect, difference, p_holm, expected):
    row = {"known_effect": effect, "difference": difference, "p_holm": p_holm}
    assert verdict(pd.Series(row)) == expected
