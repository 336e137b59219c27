from collections import Counter

import pytest

from aor_lib.config.params import load_study
from aor_lib.config.records import Condition, Intent
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.stimuli.design import stimuli


@pytest.fixture(scope="module")
def full(params):
    """The design of the full profile."""
    return stimuli(load_study(params / "full.yaml"))


def test_every_utterance_is_tried_once_in_every_condition(params):
    study = load_study(params / "smoke.yaml")
    specs = stimuli(study)
    assert specs == stimuli(study)
    assert len({spec.stimulus_id for spec in specs}) == len(specs)
    seen = Counter((spec.utterance.id, spec.condition) for spec in specs if spec.block == "core")
    assert set(seen.values()) == {1}
    assert {condition for _, condition in seen} == set(Condition) - {Condition.AS_FOUND}


def test_matched_scenes_are_the_utterances_own_and_mismatched_ones_of_another_scenario(params):
    study = load_study(params / "laptop.yaml")
    scenario_of = {scene.id: s.id for s in study.scenarios for scene in s.scenes}
    for spec in stimuli(study):
        if spec.condition is Condition.MATCHED:
            assert spec.scene.id in spec.utterance.scenes
        if spec.condition is Condition.MISMATCHED:
            assert scenario_of[spec.scene.id] != spec.utterance.scenario


def test_a_harmful_counterpart_differs_from_its_partner_in_words_only(full):
    specs = [s for s in full if s.block == "core" and s.variant == 0]
    by_key = {(s.utterance.id, s.condition): s for s in specs}
    harmful = [s for s in specs if s.utterance.intent is Intent.HARMFUL]
    assert harmful
    for spec in harmful:
        partner = by_key[(spec.utterance.contrast_of, spec.condition)]
        assert (spec.voice, spec.scene, spec.seed) == (partner.voice, partner.scene, partner.seed)
        assert spec.utterance.split == partner.utterance.split


def test_gender_and_scene_do_not_predict_each_other(full):
    matched = [s for s in full if s.block == "core" and s.condition is Condition.MATCHED]
    pairs = Counter((s.scene.id, s.voice[1]) for s in matched)
    for scene in {scene for scene, _ in pairs}:
        assert 0.5 < pairs[scene, "f"] / pairs[scene, "m"] < 2


def test_variants_of_an_utterance_share_two_voices_and_cross_them_with_its_scenes(full):
    by_utterance = {}
    for spec in full:
        harmful_sounding = spec.utterance.intent is Intent.PSEUDO_HARMFUL
        if spec.block == "core" and spec.condition is Condition.MATCHED and harmful_sounding:
            by_utterance.setdefault(spec.utterance.id, []).append(spec)
    assert {len(found) for found in by_utterance.values()} == {5}
    assert sum(map(len, by_utterance.values())) == 3000
    for found in by_utterance.values():
        assert {s.voice[1] for s in found} == {"f", "m"}
        assert len({s.voice for s in found}) == 2
        assert len({(s.voice, s.scene.id) for s in found}) >= 4


def test_a_third_of_the_paralinguistic_cells_is_balanced(write_profile):
    factors = {"fraction": "third", "utterances_per_scenario": 3}
    counts = {"pseudo_harmful": 3, "harmful": 0, "benign": 0}
    study = load_study(write_profile(paralinguistics=factors, utterances_per_scenario=counts))
    specs = stimuli(study)
    spoken = [s for s in specs if s.condition is Condition.SPEECH_ONLY and not s.history]
    ours = [s for s in spoken if s.utterance.intent is Intent.PSEUDO_HARMFUL]
    cells = Counter((s.voice[1], s.emotion, s.rate) for s in ours if s.block == "paralinguistics")
    assert {cell[1:] for cell in cells} >= {
        (emotion, rate)
        for emotion in ("angry", "fearful", "sad", "happy")
        for rate in ("slow", "normal", "fast")
    }
    emotional = {cell: n for cell, n in cells.items() if cell[1] != "neutral"}
    assert len(emotional) == 24
    assert set(emotional.values()) == {2}


def test_other_people_call_out_in_another_voice(write_profile):
    specs = stimuli(load_study(write_profile(secondary_voices={"utterances_per_scenario": 1})))
    calling = [s for s in specs if s.block == "secondary_voices"]
    assert calling
    assert not any(s.call for s in specs if s.block != "secondary_voices")
    assert all(s.call.text and s.call.voice != s.voice for s in calling)


def test_histories_have_one_to_four_turns_and_the_scene_of_the_utterance(write_profile):
    study = load_study(write_profile(multi_turn={"utterances_per_scenario": 1}))
    later = [s for s in stimuli(study) if s.block == "multi_turn"]
    assert {len(s.history.turns) for s in later} == {1, 2, 3, 4}
    assert all(s.history_scene.id in s.utterance.scenes for s in later)
    assert {s.condition for s in later} == {Condition.MATCHED, Condition.SPEECH_ONLY}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scenarios": ["kitchen"]}, "second scenario"),
        (
            {"voices": ["af_heart"], "paralinguistics": {"utterances_per_scenario": 1}},
            "needs a male voice",
        ),
    ],
)
def test_a_profile_without_what_a_condition_needs_is_refused(write_profile, changes, message):
    with pytest.raises(ParamsError, match=message):
        stimuli(load_study(write_profile(**changes)))
