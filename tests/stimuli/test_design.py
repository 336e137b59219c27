from collections import Counter

import pytest

from aor_lib.config.params import load_study
from aor_lib.config.records import Condition, Intent
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.stimuli.design import stimuli

NEUTRAL, THREATENING = Condition.NEUTRAL_SCENE, Condition.THREATENING_SCENE

COUNTS = {"pseudo_harmful": 4, "harmful": 2, "benign": 4}


@pytest.fixture
def study(write_profile):
    """Make the tiny study with more utterances, and some keys of its profile changed."""
    return lambda **changes: load_study(write_profile(utterances_per_scenario=COUNTS, **changes))


@pytest.fixture(scope="module")
def full(params):
    """The design of the full profile."""
    return stimuli(load_study(params / "full.yaml"))


def test_every_utterance_is_tried_once_in_every_condition(params):
    study = load_study(params / "smoke.yaml")
    specs = stimuli(study)
    assert specs == stimuli(study)
    seen = Counter((spec.utterance.id, spec.condition) for spec in specs if spec.block == "core")
    assert set(seen.values()) == {1}
    assert {condition for _, condition in seen} == set(Condition) - {Condition.AS_FOUND}


def test_a_study_of_some_scenes_leaves_out_the_others_and_what_is_not_said_there(write_profile):
    scenes = ["butcher_counter", "space_battle"]
    study = load_study(write_profile(scenes=scenes, scenarios=["kitchen", "video_gaming"]))
    specs = [spec for spec in stimuli(study) if spec.condition is Condition.BENIGN_SCENE]
    assert {spec.scene.id for spec in specs} == {*scenes}
    with pytest.raises(ParamsError, match=r"no 'space_batle'; did you mean 'space_battle'"):
        load_study(write_profile(scenes=[*scenes, "space_batle"]))
    with pytest.raises(ParamsError, match=r"video_gaming.yaml has 0 in the profile's scenes"):
        load_study(write_profile(scenes=scenes[:1], scenarios=["kitchen", "video_gaming"]))


def test_a_benign_scene_is_the_utterances_own_and_every_kind_is_what_its_condition_says(study):
    heard = {}
    for spec in stimuli(study()):
        if spec.condition is Condition.BENIGN_SCENE:
            assert spec.scene.id in spec.utterance.scenes
        if spec.scene is not None:
            heard.setdefault(spec.condition, set()).add(spec.scene.kind)
    assert heard.pop(NEUTRAL) == {"neutral"}
    assert heard.pop(THREATENING) == {"threatening"}
    assert set().union(*heard.values()) == {"benign"}


def test_an_utterance_has_one_voice_in_all_core_conditions(study):
    voices = {}
    for spec in stimuli(study(voices=["af_heart", "am_michael", "bf_emma"])):
        if spec.block == "core":
            voices.setdefault(spec.utterance.id, set()).add(
                (spec.voice, spec.emotion, spec.speaking_rate)
            )
    assert {len(found) for found in voices.values()} == {1}


def test_only_declared_scenes_threaten_what_sounds_harmful_and_any_threatens_the_benign(study):
    specs = stimuli(study(seed=4))
    threatened = [s for s in specs if s.condition is THREATENING]
    benign = [s for s in threatened if s.utterance.intent is Intent.BENIGN]
    assert len(benign) == 2 * COUNTS["benign"]
    assert len({s.scene.id for s in benign}) > 1
    declared = {s.utterance.id for s in specs if s.utterance.threatening_scenes}
    assert {s.utterance.id for s in threatened if s not in benign} == declared
    assert all(s.scene.id in s.utterance.threatening_scenes for s in threatened if s not in benign)
    assert len({s.scene.id for s in specs if s.condition is NEUTRAL}) > 1


def test_sweeps_variants_calls_and_histories_stay_in_the_benign_scene(study):
    some = {"utterances_per_scenario": 1}
    blocks = {"snr_sweep": {"snr_db": [0]} | some, "secondary_voices": some, "multi_turn": some}
    specs = stimuli(study(variants=3, **blocks))
    scenes = [s.scene or s.history_scene for s in specs if s.block != "core" or s.variant]
    assert {scene.kind for scene in scenes} == {"benign"}
    calling = [s for s in specs if s.call]
    assert {s.block for s in calling} == {"secondary_voices"}
    assert all(s.call.text and s.call.voice != s.voice for s in calling)
    later = [s for s in specs if s.block == "multi_turn"]
    assert {len(s.history.turns) for s in later} == {1, 2, 3, 4}
    assert all(s.history_scene.id in s.utterance.scenes for s in later)
    assert {s.condition for s in later} == {Condition.BENIGN_SCENE, Condition.SPEECH_ONLY}


def test_a_harmful_counterpart_differs_from_its_partner_in_words_only(full):
    specs = [s for s in full if s.block == "core" and s.variant == 0]
    by_key = {(s.utterance.id, s.condition): s for s in specs}
    assert {s.condition for s in specs} >= {NEUTRAL, THREATENING}
    harmful = [s for s in specs if s.utterance.intent is Intent.HARMFUL]
    assert harmful
    for spec in harmful:
        partner = by_key[(spec.utterance.contrast_of, spec.condition)]
        assert (spec.voice, spec.scene, spec.seed) == (partner.voice, partner.scene, partner.seed)
        assert spec.utterance.split == partner.utterance.split


def test_gender_and_scene_do_not_predict_each_other(full):
    in_scene = [s for s in full if s.block == "core" and s.condition is Condition.BENIGN_SCENE]
    pairs = Counter((s.scene.id, s.voice[1]) for s in in_scene)
    for scene in {scene for scene, _ in pairs}:
        assert 0.5 < pairs[scene, "f"] / pairs[scene, "m"] < 2


def test_variants_of_an_utterance_share_two_voices_and_cross_them_with_its_scenes(full):
    by_utterance = {}
    for spec in full:
        harmful_sounding = spec.utterance.intent is Intent.PSEUDO_HARMFUL
        if spec.block == "core" and spec.condition is Condition.BENIGN_SCENE and harmful_sounding:
            by_utterance.setdefault(spec.utterance.id, []).append(spec)
    assert {len(found) for found in by_utterance.values()} == {5}
    for found in by_utterance.values():
        assert {s.voice[1] for s in found} == {"f", "m"}
        assert len({s.voice for s in found}) == 2
        scenes = len(found[0].utterance.scenes)
        assert len({(s.voice, s.scene.id) for s in found}) >= min(4, 2 * scenes)


def test_a_third_of_the_paralinguistic_cells_is_balanced(write_profile):
    factors = {"fraction": "third", "utterances_per_scenario": 3}
    counts = {"pseudo_harmful": 3, "harmful": 0, "benign": 0}
    study = load_study(write_profile(paralinguistics=factors, utterances_per_scenario=counts))
    emotional = [s for s in stimuli(study) if s.emotion != "neutral"]
    assert {(s.block, s.condition) for s in emotional} == {("paralinguistics", "speech_only")}
    cells = Counter((s.voice[1], s.emotion, s.speaking_rate) for s in emotional)
    assert len(cells) == 2 * 4 * 3
    assert set(cells.values()) == {2}


def test_paralinguistics_without_a_voice_of_either_gender_are_refused(write_profile):
    factors = {"utterances_per_scenario": 1}
    with pytest.raises(ParamsError, match="needs a male voice"):
        stimuli(load_study(write_profile(voices=["af_heart"], paralinguistics=factors)))


def test_a_condition_without_a_scene_of_its_kind_is_refused(study):
    with pytest.raises(ParamsError, match="tiny: conditions: 'neutral_scene' needs a scene of"):
        stimuli(study().model_copy(update={"other_scenes": ()}))
