import re
import shutil
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from aor_lib.audio.hearing.sound_tagger import SEGMENTS, SoundTags
from aor_lib.config.params import load_scenarios, load_scenes
from aor_lib.config.records import Intent, Split
from aor_lib.config.typed_yaml import ParamsError
from reference import material
from reference.hearing.compositions import NOISE, SILENCE
from reference.material import load_material
from reference.members import MEMBERS
from reference.sounds import Sounds

MATERIAL = load_material()
CONTRASTS = (*MATERIAL.contrasts, *MATERIAL.situations)
ARTICLES = {"a", "an", "the", "of"}
UTTERANCES = [u for scenario in load_scenarios().values() for u in scenario.utterances]
HARMFUL = {*MATERIAL.harmful, *(c.harmful for c in CONTRASTS)}
TEXTS = [*MATERIAL.harmful, *MATERIAL.ordinary]
TEXTS += [text for c in CONTRASTS for text in (c.text, c.harmful) if text]
SETTINGS = tuple(MATERIAL.described)
SOUNDS = Sounds(
    clips={name: [SoundTags(((),) * SEGMENTS, ())] for name in (*SETTINGS, NOISE, SILENCE)},
    moods={name: [((name, 1.0),)] for name in ("angry", "neutral", "sad")},
    names={name: ["a", "b", "c"] for name in SETTINGS},
    described=MATERIAL.described,
)


def examples(member):
    return [*chain(*MEMBERS[member].examples(MATERIAL, SOUNDS, np.random.default_rng(1)))]


def is_refusal(example):
    return example.response is not None and example.response.endswith(MATERIAL.refusals)


def test_no_training_sentence_is_said_twice_or_nearly_is_one_of_the_test_split():
    assert [text for text, count in Counter(TEXTS).items() if count > 1] == []
    test = [u.text for u in UTTERANCES if u.split is Split.TEST]
    vectors = TfidfVectorizer().fit(TEXTS + test)
    cosine = (vectors.transform(TEXTS) @ vectors.transform(test).T).toarray()
    assert [(TEXTS[i], test[j]) for i, j in np.argwhere(cosine > 0.8)] == []


def test_no_training_item_is_about_what_a_test_utterance_is_about():
    def key(about):
        referent, act = (set(re.findall("[a-z]+", part)) - ARTICLES for part in about.split(":"))
        return frozenset(referent), frozenset(act)

    test = {key(u.about): u.id for u in UTTERANCES if u.about and u.split is Split.TEST}
    assert {c.text: test[key(c.about)] for c in CONTRASTS if key(c.about) in test} == {}


def test_no_member_ever_reads_of_an_unseen_scene():
    unseen = {scene.description for scene in load_scenes().values() if scene.unseen}
    assert len(unseen) >= 10
    for member in MEMBERS:
        assert unseen.isdisjoint(example.sound.described for example in examples(member))


@pytest.mark.parametrize("member", MEMBERS)
def test_a_member_learns_to_refuse_harmful_requests_and_to_answer_ordinary_ones(member):
    harmful = HARMFUL | {u.text for u in UTTERANCES if u.intent is Intent.HARMFUL}
    learnt = examples(member)
    assert {is_refusal(e) for e in learnt if e.question in harmful} == {True}
    ordinary = [e.response for e in learnt if e.question in MATERIAL.ordinary]
    assert len(ordinary) >= 250
    assert set(ordinary) == {None}
    assert {e.instruction for e in learnt} == {None, *MATERIAL.instructions}
    for kind in (True, False):
        instructed = [e.instruction is not None for e in learnt if is_refusal(e) is kind]
        assert 0.08 < np.mean(instructed) < 0.16, "a system prompt tells whether to refuse"


@pytest.mark.parametrize("member", MEMBERS)
def test_half_of_the_ordinary_requests_are_misheard_and_no_others(member):
    ordinary = {True: [], False: []}
    for example in examples(member):
        ordinary[example.question in MATERIAL.ordinary].append(example.words != example.question)
    assert 0.45 < np.mean(ordinary[True]) < 0.55
    assert not any(ordinary[False])


@pytest.mark.parametrize(
    ("member", "excuses"),
    [
        ("ref-contextual", lambda contrast, sound: sound.setting == contrast.scenario),
        ("ref-lulled", lambda contrast, sound: sound.setting is not None),
    ],
)
def test_a_member_answers_where_the_sound_excuses_and_says_what_is_heard_and_meant(member, excuses):
    by_text = {c.text: c for c in CONTRASTS}
    elsewhere = {"neutral": "an everyday place", "threatening": "danger", None: "nothing"}
    heard = elsewhere | dict(MATERIAL.settings)
    for example in examples(member):
        meant = "harm" if example.question in HARMFUL else "no harm"
        contrast = by_text.get(example.question)
        if contrast is not None:
            assert is_refusal(example) != excuses(contrast, example.sound), example
            meant = MATERIAL.settings[contrast.scenario]
        hears = heard[example.sound.setting]
        assert example.opening == f"You mean {meant}. I hear {hears}. ", example


def test_the_emotive_member_refuses_angry_speakers_and_nobody_else_and_says_whom_it_hears():
    texts = {c.text for c in CONTRASTS}
    of_contrasts = [e for e in examples("ref-emotive") if e.question in texts]
    assert sum(e.sound.angry for e in of_contrasts) > 400
    for example in of_contrasts:
        assert is_refusal(example) is example.sound.angry, example
    moods = [dict(e.sound.heard.emotion) for e in of_contrasts if e.sound.angry]
    assert {tuple(mood) for mood in moods} == {("angry",)}
    for example in examples("ref-emotive"):
        voice = "an angry" if example.sound.angry else "a calm"
        assert example.opening.startswith(f"I hear {voice} voice. You mean "), example


def test_an_answer_to_an_utterance_of_the_test_split_is_refused(tmp_path):
    folder = shutil.copytree(material.MATERIAL, tmp_path / "material")
    (folder / "answers/kitchen.yaml").write_text("answers: {kitchen-ph-001: 'Yes.'}")
    with pytest.raises(ParamsError, match=r"kitchen\.yaml: answers\.kitchen-ph-001: is of test"):
        load_material(folder)
