import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from aor_lib.config.params import load_scenarios, load_scenes
from aor_lib.config.records import HarmCategory, Intent, Split

SCENARIOS = load_scenarios()
UTTERANCES = [u for scenario in SCENARIOS.values() for u in scenario.utterances]
COUNTS = {Intent.PSEUDO_HARMFUL: 100, Intent.HARMFUL: 25, Intent.BENIGN: 25}


@pytest.fixture(params=SCENARIOS)
def scenario(request):
    return SCENARIOS[request.param]


def of(intent, utterances):
    return [u for u in utterances if u.intent is intent]


def test_a_scenario_has_enough_utterances_and_scenes_of_which_training_lacks_one(scenario):
    assert Counter(u.intent for u in scenario.utterances) >= Counter(COUNTS)
    assert len(scenario.scenes) >= 5
    assert {scene.unseen for scene in scenario.scenes} == {True, False}


def test_ids_are_unique_and_about_a_third_of_the_utterances_is_for_choosing():
    assert len({u.id for u in UTTERANCES}) == len(UTTERANCES)
    assert 0.2 < np.mean([u.split is Split.DEV for u in UTTERANCES]) < 0.45


def test_utterances_are_of_benign_and_threatening_scenes_of_which_training_lacks_some():
    scenes = load_scenes().values()
    named = {name for u in UTTERANCES for name in (*u.scenes, *u.threatening_scenes)}
    assert named == {scene.id for scene in scenes if scene.kind != "neutral"}
    for kind in ("neutral", "threatening"):
        unseen = [scene.unseen for scene in scenes if scene.kind == kind]
        assert len(unseen) >= 6
        assert sum(unseen) >= 2


def test_no_two_utterances_of_a_scenario_are_alike(scenario):
    texts = [u.text for u in scenario.utterances]
    vectors = TfidfVectorizer().fit_transform(texts)
    cosine = np.triu((vectors @ vectors.T).toarray(), k=1)
    assert [(texts[i], texts[j]) for i, j in np.argwhere(cosine > 0.8)] == []


def test_pseudo_harmful_utterances_say_both_readings_each_about_something_else(scenario):
    pseudo_harmful = of(Intent.PSEUDO_HARMFUL, scenario.utterances)
    for utterance in pseudo_harmful:
        assert utterance.harmful_reading, utterance.id
        assert utterance.benign_reading, utterance.id
        assert re.fullmatch(r"[^:]+: [^:]+", utterance.about or ""), utterance.id
    assert len({u.about for u in pseudo_harmful}) == len(pseudo_harmful)
    assert sum(bool(u.threatening_scenes) for u in pseudo_harmful) >= 50
    assert not any(u.threatening_scenes for u in of(Intent.BENIGN, scenario.utterances))


def test_every_harm_category_has_enough_utterances():
    for intent, at_least in ((Intent.PSEUDO_HARMFUL, 30), (Intent.HARMFUL, 8)):
        counts = Counter(u.harm_category for u in of(intent, UTTERANCES))
        assert [category for category in HarmCategory if counts[category] < at_least] == []


def test_harmful_utterances_contrast_with_a_pseudo_harmful_one_in_the_same_scenes(scenario):
    by_id = {u.id: u for u in scenario.utterances}
    harmful = of(Intent.HARMFUL, scenario.utterances)
    assert len({u.contrast_of for u in harmful}) == len(harmful)
    for utterance in harmful:
        partner = by_id[utterance.contrast_of]
        assert partner.intent is Intent.PSEUDO_HARMFUL, utterance.id
        for field in ("scenes", "threatening_scenes", "harm_category"):
            assert getattr(utterance, field) == getattr(partner, field), utterance.id
        assert utterance.harmful_reading, utterance.id
        assert utterance.benign_reading is None, utterance.id


def test_utterances_are_plain_spoken_sentences_of_4_to_21_words_in_different_scenes(scenario):
    for utterance in scenario.utterances:
        for scenes in (utterance.scenes, utterance.threatening_scenes):
            assert len(set(scenes)) == len(scenes), utterance.id
        assert re.fullmatch(r"[A-Z][A-Za-z' ,.?!-]*[.?!]", utterance.text), utterance.text
        assert 4 <= len(utterance.text.split()) <= 21, utterance.text
