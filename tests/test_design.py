from collections import Counter

import pytest

from aor_lib.design import stimuli
from aor_lib.params import load_study
from aor_lib.records import Condition, Intent
from aor_lib.typed_yaml import ParamsError


def test_the_same_parameters_give_the_same_design(params):
    first, second = (stimuli(load_study(params / "laptop.yaml")) for _ in range(2))
    assert first == second


def test_every_stimulus_has_a_name_of_its_own(params):
    ids = [spec.stimulus_id for spec in stimuli(load_study(params / "laptop.yaml"))]
    assert len(set(ids)) == len(ids)


def test_every_utterance_is_tried_in_every_condition(params):
    study = load_study(params / "smoke.yaml")
    seen = Counter(
        (spec.utterance.id, spec.condition) for spec in stimuli(study) if spec.block == "core"
    )
    assert set(seen.values()) == {1}
    assert {condition for _, condition in seen} == set(Condition)


def test_matched_scenes_are_the_utterances_own_and_mismatched_ones_of_another_scenario(params):
    study = load_study(params / "laptop.yaml")
    scenario_of = {scene.id: s.id for s in study.scenarios for scene in s.scenes}
    for spec in stimuli(study):
        if spec.condition is Condition.MATCHED:
            assert spec.scene in spec.utterance.scenes
        if spec.condition is Condition.MISMATCHED:
            assert scenario_of[spec.scene] != spec.utterance.scenario


def test_a_harmful_counterpart_differs_from_its_partner_in_words_only(params):
    specs = [s for s in stimuli(load_study(params / "laptop.yaml")) if s.block == "core"]
    by_key = {(s.utterance.id, s.condition): s for s in specs}
    harmful = [s for s in specs if s.utterance.intent is Intent.HARMFUL]
    assert harmful
    for spec in harmful:
        partner = by_key[(spec.utterance.contrast_of, spec.condition)]
        assert (spec.voice, spec.scene, spec.seed) == (partner.voice, partner.scene, partner.seed)


def test_gender_and_scene_do_not_predict_each_other(params):
    specs = stimuli(load_study(params / "laptop.yaml"))
    matched = [s for s in specs if s.block == "core" and s.condition is Condition.MATCHED]
    pairs = Counter((s.scene, s.voice[1]) for s in matched)
    for scene in {scene for scene, _ in pairs}:
        assert pairs[scene, "f"] > 0
        assert pairs[scene, "m"] > 0


def test_mismatched_needs_a_second_scenario(write_profile):
    with pytest.raises(ParamsError, match="second scenario"):
        stimuli(load_study(write_profile(scenarios=["kitchen"])))
