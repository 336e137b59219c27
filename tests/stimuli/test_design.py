from collections import Counter

import pytest

from aor_lib.config.params import PARAMS, load_study
from aor_lib.config.records import Condition, Intent
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.stimuli.design import stimuli

BENIGN, NEUTRAL = Condition.BENIGN_SCENE, Condition.NEUTRAL_SCENE
THREATENING = Condition.THREATENING_SCENE
COUNTS = {"pseudo_harmful": 4, "harmful": 2, "benign": 4}
SOME = {"utterances_per_scenario": 1}


@pytest.fixture
def study(write_profile):
    """Make the tiny study with more utterances, and some keys of its profile changed."""
    return lambda **changes: load_study(write_profile(utterances_per_scenario=COUNTS, **changes))


@pytest.fixture(scope="module")
def full():
    return stimuli(load_study(PARAMS / "full.yaml"))


def test_every_utterance_is_tried_once_in_every_condition_in_one_voice():
    study = load_study(PARAMS / "smoke.yaml")
    specs = stimuli(study)
    assert specs == stimuli(study)
    core = [spec for spec in specs if spec.block == "core"]
    seen = Counter((spec.utterance.id, spec.condition) for spec in core)
    assert set(seen.values()) == {1}
    assert {condition for _, condition in seen} == set(Condition) - {Condition.AS_FOUND}
    spoken = {(s.utterance.id, s.voice, s.emotion, s.speaking_rate) for s in core}
    assert len(spoken) == len({s.utterance.id for s in core})


def test_a_study_of_some_scenes_leaves_out_the_others_and_what_is_not_said_there(write_profile):
    scenes = ["butcher_counter", "space_battle"]
    study = load_study(write_profile(scenes=scenes, scenarios=["kitchen", "video_gaming"]))
    specs = [spec for spec in stimuli(study) if spec.condition is BENIGN]
    assert {spec.scene.id for spec in specs} == {*scenes}
    with pytest.raises(ParamsError, match=r"video_gaming.yaml has 0"):
        load_study(write_profile(scenes=scenes[:1], scenarios=["kitchen", "video_gaming"]))


def test_scenes_are_of_the_kind_that_the_condition_says_and_those_that_utterances_name(study):
    specs = stimuli(study(seed=4))
    heard = {}
    for spec in specs:
        if spec.scene is not None:
            heard.setdefault(spec.condition, set()).add(spec.scene.kind)
        if spec.condition is BENIGN:
            assert spec.scene.id in spec.utterance.scenes
        if spec.condition is THREATENING and spec.utterance.intent is not Intent.BENIGN:
            assert spec.scene.id in spec.utterance.threatening_scenes
    assert heard.pop(NEUTRAL) == {"neutral"}
    assert heard.pop(THREATENING) == {"threatening"}
    assert set().union(*heard.values()) == {"benign"}
    threatened = {s.utterance.id for s in specs if s.condition is THREATENING}
    plain = {s.utterance.id for s in specs if s.utterance.intent is Intent.BENIGN}
    assert threatened == plain | {s.utterance.id for s in specs if s.utterance.threatening_scenes}


def test_sweeps_variants_and_histories_stay_in_the_benign_scene(study):
    blocks = {"snr_sweep": {"snr_db": [0]} | SOME, "multi_turn": SOME}
    specs = stimuli(study(variants=3, **blocks))
    scenes = [s.scene or s.history_scene for s in specs if s.block != "core" or s.variant]
    assert {scene.kind for scene in scenes} == {"benign"}
    later = [s for s in specs if s.block == "multi_turn"]
    assert {len(s.history.turns) for s in later} == {1, 2, 3, 4}
    assert all(s.history_scene.id in s.utterance.scenes for s in later)
    assert {s.condition for s in later} == {BENIGN, Condition.SPEECH_ONLY}


def test_what_only_few_utterances_are_tried_in_is_made_for_those_that_are_reported(study):
    blocks = {"snr_sweep": {"snr_db": [0]} | SOME, "multi_turn": SOME, "paralinguistics": SOME}
    specs = [s for s in stimuli(study(**blocks)) if s.block != "core"]
    assert {s.utterance.split for s in specs} == {"test"}
    tried = {(s.block, s.utterance.scenario, s.utterance.id) for s in specs if s.utterance.about}
    assert {*Counter((block, scenario) for block, scenario, _ in tried).values()} == {1}


def test_a_third_of_the_utterances_is_for_choosing_as_far_as_there_are_as_many(study, full):
    chosen = {s.utterance.id: s.utterance for s in stimuli(study())}.values()
    dev = Counter(u.intent for u in chosen if u.split == "dev" and u.scenario == "kitchen")
    assert dev == {"pseudo_harmful": 1, "benign": 1}
    assert len({s.utterance.id for s in full}) == 6 * 150


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
    in_scene = [s for s in full if s.block == "core" and s.condition is BENIGN]
    pairs = Counter((s.scene.id, s.voice[1]) for s in in_scene)
    for scene in {scene for scene, _ in pairs}:
        assert 0.5 < pairs[scene, "f"] / pairs[scene, "m"] < 2


def test_variants_of_an_utterance_share_two_voices_and_cross_them_with_its_scenes(full):
    by_utterance = {}
    for spec in full:
        if spec.block == "core" and spec.condition is BENIGN and spec.utterance.about:
            by_utterance.setdefault(spec.utterance.id, []).append(spec)
    assert {len(specs) for specs in by_utterance.values()} == {5}
    for specs in by_utterance.values():
        assert {s.voice[1] for s in specs} == {"f", "m"}
        assert len({s.voice for s in specs}) == 2
        scenes = len(specs[0].utterance.scenes)
        assert len({(s.voice, s.scene.id) for s in specs}) >= min(4, 2 * scenes)


def test_a_third_of_the_paralinguistic_cells_is_balanced(study):
    factors = {"utterances_per_scenario": 3}
    emotional = [s for s in stimuli(study(paralinguistics=factors)) if s.emotion != "neutral"]
    assert {(s.block, s.condition) for s in emotional} == {("paralinguistics", "speech_only")}
    pseudo_harmful = [s for s in emotional if s.utterance.intent is Intent.PSEUDO_HARMFUL]
    cells = Counter((s.voice[1], s.emotion, s.speaking_rate) for s in pseudo_harmful)
    assert len(cells) == 2 * 4 * 3
    assert set(cells.values()) == {2}


def test_too_few_voices_or_scenes_for_what_is_asked_are_refused(study):
    with pytest.raises(ParamsError, match="needs a male voice"):
        stimuli(study(voices=["af_heart"], paralinguistics=SOME))
    with pytest.raises(ParamsError, match="tiny: conditions: 'neutral_scene' needs a scene of"):
        stimuli(study().model_copy(update={"other_scenes": ()}))
