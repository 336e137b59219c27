import numpy as np
import pytest

from aor_lib.audio import speech
from aor_lib.audio.hearing import speaker_classifier as sc
from aor_lib.audio.speech.emotions import TARGETS
from aor_lib.config.params import PARAMS, load_scenarios
from aor_lib.config.profile import Profile
from aor_lib.config.typed_yaml import read


def test_no_profile_uses_its_voices_and_no_utterance_is_one_of_its_sentences():
    profiles = [
        read(PARAMS / f"{name}.yaml", Profile) for name in ("smoke", "laptop", "reference", "full")
    ]
    assert set(sc.VOICES).isdisjoint(voice for profile in profiles for voice in profile.voices)
    texts = {u.text for scenario in load_scenarios().values() for u in scenario.utterances}
    assert texts.isdisjoint(sc.SENTENCES)


def test_every_voice_is_trained_at_every_rate_with_several_sentences():
    jobs = sc.training_jobs()
    assert {(voice, rate) for _, voice, _, rate in jobs} == {
        (voice, rate) for voice in sc.VOICES for rate in speech.RATES
    }
    assert {sentence for _, _, sentence, _ in jobs} == set(sc.SENTENCES)
    assert len({number for number, *_ in jobs}) == len(jobs)


@pytest.fixture(scope="module")
def said():
    """What is heard in clips whose voices and sentences were not trained, and what was spoken."""
    spoken = []
    for voice in ("af_heart", "bm_george"):
        for sentence in (
            "We have to leave before it rains.",
            "Where did you put the keys to the car?",
        ):
            features = sc.training_features((0, voice, sentence, "normal"))
            spoken += [(voice, *pair) for pair in zip(TARGETS, features, strict=True)]
    return [(voice, emotion, sc.classify(features)) for voice, emotion, features in spoken]


@pytest.mark.slow
def test_it_tells_men_from_women_in_voices_it_was_not_trained_on(said):
    right = [found["gender"] == speech.gender_of(voice) for voice, _, found in said]
    assert np.mean(right) >= 0.9


@pytest.mark.slow
def test_it_hears_anger_more_often_in_angry_speech_than_in_neutral(said):
    angry, neutral = (
        [found["emotion"] == "angry" for _, spoken, found in said if spoken == emotion]
        for emotion in ("angry", "neutral")
    )
    assert np.mean(angry) >= 0.75
    assert np.mean(neutral) <= 0.25


def test_it_answers_in_the_manifest_s_words():
    said = sc.classify(np.zeros(768, dtype=np.float32))
    assert said["gender"] in ("female", "male")
    assert said["emotion"] in TARGETS
    assert said["rate"] in speech.RATES
