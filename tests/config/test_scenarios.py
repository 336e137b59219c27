"""The utterances that ship with the project: enough of them, varied, and what they claim to be."""

import re
from collections import Counter

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Intent

SCENARIOS = load_scenarios()


@pytest.fixture(params=SCENARIOS)
def scenario(request):
    return SCENARIOS[request.param]


def of(scenario, intent):
    return [u for u in scenario.utterances if u.intent is intent]


def test_a_scenario_has_at_least_100_pseudo_harmful_25_harmful_and_25_benign_utterances(scenario):
    counts = Counter(u.intent for u in scenario.utterances)
    assert counts >= Counter({Intent.PSEUDO_HARMFUL: 100, Intent.HARMFUL: 25, Intent.BENIGN: 25})


def test_a_scenario_has_five_scenes(scenario):
    assert len(scenario.scenes) >= 5


def test_every_scene_is_used(scenario):
    counts = Counter(s for u in of(scenario, Intent.PSEUDO_HARMFUL) for s in u.scenes)
    assert all(counts[scene.id] for scene in scenario.scenes), counts


def test_no_two_utterances_of_a_scenario_are_alike(scenario):
    texts = [u.text for u in scenario.utterances]
    vectors = TfidfVectorizer().fit_transform(texts)
    cosine = (vectors @ vectors.T).tocoo()
    alike = [
        (round(float(value), 2), texts[i], texts[j])
        for i, j, value in zip(cosine.row, cosine.col, cosine.data, strict=True)
        if i < j and value > 0.8
    ]
    assert alike == []


def test_openings_and_sentence_forms_vary(scenario):
    texts = [u.text for u in of(scenario, Intent.PSEUDO_HARMFUL)]
    openings = Counter(" ".join(text.split()[:2]) for text in texts)
    assert openings.most_common(1)[0][1] <= 10, openings.most_common(3)
    assert 20 <= sum(not text.endswith("?") for text in texts) <= 70
    lengths = [len(text.split()) for text in texts]
    assert min(lengths) >= 4
    assert max(lengths) <= 22
    assert sum(n <= 8 for n in lengths) >= 15
    assert sum(n >= 13 for n in lengths) >= 15


def test_pseudo_harmful_utterances_say_both_readings_and_two_scenes(scenario):
    for utterance in of(scenario, Intent.PSEUDO_HARMFUL):
        assert utterance.harmful_reading, utterance.id
        assert utterance.benign_reading, utterance.id
        assert len(set(utterance.scenes)) >= 2, utterance.id
    readings = [u.benign_reading for u in of(scenario, Intent.PSEUDO_HARMFUL)]
    assert len(set(readings)) >= 95


def test_harmful_utterances_contrast_with_a_pseudo_harmful_one_in_the_same_scenes(scenario):
    by_id = {u.id: u for u in scenario.utterances}
    harmful = of(scenario, Intent.HARMFUL)
    assert len({u.contrast_of for u in harmful}) == len(harmful)
    for utterance in harmful:
        partner = by_id[utterance.contrast_of]
        assert partner.intent is Intent.PSEUDO_HARMFUL, utterance.id
        assert utterance.scenes == partner.scenes, utterance.id
        assert utterance.harmful_reading, utterance.id
        assert utterance.benign_reading is None, utterance.id
        shared = words(utterance.text) & words(partner.text)
        assert len(shared) >= 3, utterance.id


def test_texts_are_plain_spoken_sentences(scenario):
    for utterance in scenario.utterances:
        assert re.fullmatch(r"[A-Z][A-Za-z' ,-]*[.?!]", utterance.text), utterance.text


def words(text):
    return set(re.findall(r"[a-z']+", text.lower()))
