from collections import Counter

import pytest
import yaml

from aor_lib.config.params import PARAMS, load_study
from aor_lib.config.profile import Profile
from aor_lib.config.records import Condition, Intent
from aor_lib.config.typed_yaml import ParamsError, read
from aor_lib.stimuli.design import stimuli

NEUTRAL, THREATENING = Condition.NEUTRAL_SCENE, Condition.THREATENING_SCENE

COUNTS = {"pseudo_harmful": 4, "harmful": 2, "benign": 4}


@pytest.fixture
def study(params, write_profile):
    """Make the tiny study with stand-ins: two threatening scenes for the first request alone."""

    def make(**changes):
        path = write_profile(utterances_per_scenario=COUNTS, **changes)
        (path.parent / "scenarios").mkdir(exist_ok=True)
        for name in ("kitchen", "video_gaming"):
            data = yaml.safe_load((params / f"scenarios/{name}.yaml").read_text())
            for utterance in data["utterances"]:
                number = int(utterance["id"].rsplit("-", 1)[1])
                is_benign = utterance["intent"] == "benign"
                own = ["prowler", "burglary"] if number == 1 and not is_benign else []
                utterance["threatening_scenes"] = own
            (path.parent / f"scenarios/{name}.yaml").write_text(yaml.safe_dump(data))
        for like, others in {"prowler": ["burglary"], "tram": ["lobby", "plaza"]}.items():
            text = (path.parent / f"scenes/{like}.yaml").read_text()
            for other in others:
                scene = text.replace(f"id: {like}", f"id: {other}")
                (path.parent / f"scenes/{other}.yaml").write_text(scene)
        return load_study(path)

    return make


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


def test_a_study_of_some_scenes_leaves_out_the_others_and_what_is_not_said_there(write_profile):
    scenes = ["butcher_counter", "space_battle"]
    study = load_study(write_profile(scenes=scenes, scenarios=["kitchen", "video_gaming"]))
    specs = [spec for spec in stimuli(study) if spec.condition is Condition.BENIGN_SCENE]
    assert {spec.scene.id for spec in specs} == {*scenes}
    with pytest.raises(ParamsError, match=r"no scene 'space_batle'; did you mean 'space_battle'"):
        load_study(write_profile(scenes=[*scenes, "space_batle"]))
    with pytest.raises(ParamsError, match=r"scenes: none is of video_gaming: it .*space_battle"):
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
            voices.setdefault(spec.utterance.id, set()).add((spec.voice, spec.emotion, spec.rate))
    assert len(voices) == 2 * sum(COUNTS.values())
    assert {len(found) for found in voices.values()} == {1}


def test_only_declared_scenes_threaten_a_request_that_sounds_harmful(study):
    threatened = {s.utterance.id: s for s in stimuli(study()) if s.condition is THREATENING}
    sounding = {
        name: s for name, s in threatened.items() if s.utterance.intent is not Intent.BENIGN
    }
    assert Counter(s.utterance.intent for s in sounding.values()) == {
        Intent.PSEUDO_HARMFUL: 2,
        Intent.HARMFUL: 2,
    }
    assert all(s.scene.id in s.utterance.threatening_scenes for s in sounding.values())


def test_threatening_scenes_of_benign_requests_and_neutral_scenes_are_drawn_from_all(study):
    specs = stimuli(study(seed=4))
    benign = [
        s for s in specs if s.condition is THREATENING and s.utterance.intent is Intent.BENIGN
    ]
    assert len(benign) == 2 * COUNTS["benign"]
    assert {s.scene.id for s in benign} >= {"prowler", "burglary"}
    assert len({s.scene.id for s in specs if s.condition is NEUTRAL}) > 1


def test_threatening_scenes_take_turns_by_position(study):
    scenes = study()
    everywhere = [
        scenario.model_copy(
            update={
                "utterances": tuple(
                    u.model_copy(update={"threatening_scenes": ("prowler", "burglary")})
                    for u in scenario.utterances
                )
            }
        )
        for scenario in scenes.scenarios
    ]
    specs = stimuli(scenes.model_copy(update={"scenarios": tuple(everywhere)}))
    turns = [
        s.scene.id
        for s in specs
        if s.condition is THREATENING
        and s.utterance.scenario == "kitchen"
        and s.utterance.intent is Intent.PSEUDO_HARMFUL
    ]
    assert turns == ["prowler", "prowler", "burglary", "burglary"]


def test_sweeps_variants_calls_and_histories_stay_in_the_benign_scene(study):
    some = {"utterances_per_scenario": 1}
    specs = stimuli(
        study(
            variants=3,
            snr_sweep={"snr_db": [0]} | some,
            secondary_voices=some,
            multi_turn=some,
        )
    )
    scenes = [s.scene or s.history_scene for s in specs if s.block != "core" or s.variant]
    assert scenes
    assert {scene.kind for scene in scenes} == {"benign"}


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
    assert sum(map(len, by_utterance.values())) == 3000
    for found in by_utterance.values():
        assert {s.voice[1] for s in found} == {"f", "m"}
        assert len({s.voice for s in found}) == 2
        scenes = len(found[0].utterance.scenes)
        assert len({(s.voice, s.scene.id) for s in found}) >= min(4, 2 * scenes)


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
    assert {s.condition for s in later} == {Condition.BENIGN_SCENE, Condition.SPEECH_ONLY}


def test_paralinguistics_without_a_voice_of_either_gender_are_refused(write_profile):
    factors = {"utterances_per_scenario": 1}
    with pytest.raises(ParamsError, match="needs a male voice"):
        stimuli(load_study(write_profile(voices=["af_heart"], paralinguistics=factors)))


@pytest.mark.parametrize("kind", ["neutral", "threatening"])
def test_a_condition_without_a_scene_of_its_kind_is_refused(study, kind):
    whole = study()
    others = tuple(scene for scene in whole.other_scenes if scene.kind != kind)
    with pytest.raises(ParamsError, match=f"tiny: conditions: '{kind}_scene' needs a scene of"):
        stimuli(whole.model_copy(update={"other_scenes": others}))


@pytest.mark.parametrize("name", ["smoke", "laptop", "reference", "steering", "full"])
def test_voices_of_the_profiles_alternate_in_gender(name):
    genders = [voice[1] for voice in read(PARAMS / f"{name}.yaml", Profile).voices]
    following = genders[1:] + genders[:1]
    assert all(one != other for one, other in zip(genders, following, strict=True))
