import functools

import numpy as np
import pytest

from aor_lib.audio import speech
from aor_lib.audio.hearing import speaker_training as st
from aor_lib.audio.hearing.speaker_classifier import classify
from aor_lib.audio.speech.emotions import TARGETS
from aor_lib.config.params import PARAMS, load_scenarios
from aor_lib.config.profile import Profile
from aor_lib.config.typed_yaml import read


def test_no_profile_uses_its_voices_and_no_utterance_is_one_of_its_sentences():
    profiles = [
        read(PARAMS / f"{name}.yaml", Profile) for name in ("smoke", "laptop", "reference", "full")
    ]
    assert set(st.VOICES).isdisjoint(voice for profile in profiles for voice in profile.voices)
    texts = {u.text for scenario in load_scenarios().values() for u in scenario.utterances}
    assert texts.isdisjoint(st.SENTENCES)


SPOKEN = [
    (voice, sentence)
    for voice in ("af_heart", "bm_george")
    for sentence in ("We have to leave before it rains.", "Where did you put the keys to the car?")
]


@pytest.fixture(scope="module")
def heard():
    """For a voice and a sentence, what the classifier hears in each emotion."""

    @functools.cache
    def heard(voice, sentence):
        # Each over a background of its own: one alone could decide all.
        number = 1000 + SPOKEN.index((voice, sentence))
        features = st.training_features((number, voice, sentence, "normal"))
        return dict(zip(TARGETS, map(classify, features), strict=True))

    return heard


@pytest.mark.slow
@pytest.mark.parametrize("spoken", [SPOKEN[:1], pytest.param(SPOKEN, marks=pytest.mark.nightly)])
def test_it_tells_men_from_women_in_voices_it_was_not_trained_on(heard, spoken):
    right = [
        classes["gender"] == speech.gender_of(voice)
        for voice, sentence in spoken
        for classes in heard(voice, sentence).values()
    ]
    assert np.mean(right) >= 0.9


@pytest.mark.slow
@pytest.mark.nightly
def test_it_hears_anger_more_often_in_angry_speech_than_in_neutral(heard):
    angry, neutral = (
        [heard(*spoken)[emotion]["emotion"] == "angry" for spoken in SPOKEN]
        for emotion in ("angry", "neutral")
    )
    assert np.mean(angry) >= 0.75
    assert np.mean(neutral) <= 0.25
