import pytest

from aor_lib.config.params import load_study
from aor_lib.config.records import Condition, Intent, Split
from aor_lib.inference.planning import conversation, left_out, plan_trials
from aor_lib.models.base import Capabilities
from tests.conftest import ScriptedModel, make_text_stimuli


@pytest.fixture
def stimuli():
    """A text, the same as a sound in two conditions, and the sound after earlier turns."""
    text = make_text_stimuli(1)[0]
    sound = text.model_copy(update={"path": "clips/a.flac", "presented_text": None})
    in_scene = {"condition": Condition.BENIGN_SCENE}
    turns = '[{"role": "user", "path": "b.flac"}, {"role": "assistant", "text": "I see."}]'
    history = {"block": "multi_turn", "history": turns}
    return [
        text,
        sound.model_copy(update={"stimulus_id": "a"} | in_scene),
        sound.model_copy(update={"stimulus_id": "b", "condition": Condition.NOISE}),
        sound.model_copy(update={"stimulus_id": "c"} | in_scene | history),
    ]


def able(**capabilities):
    model = ScriptedModel()
    model.capabilities = Capabilities(**capabilities)
    return model


def test_mitigations_are_tried_on_core_stimuli_of_the_chosen_conditions(write_profile, stimuli):
    study = load_study(write_profile(mitigated_conditions=["benign_scene"]))
    trials = plan_trials(study, stimuli, [able()])
    assert [(t.stimulus_id, t.arm.mitigation) for t in trials] == [
        ("s0", "none"),
        ("a", "none"),
        ("b", "none"),
        ("c", "none"),
        ("a", "chain_of_thought"),
        ("a", "chain_of_thought.control"),
    ]
    assert not left_out(study, stimuli, [able()])


@pytest.mark.parametrize(
    ("lacking", "steps", "planned", "reason", "left"),
    [
        ({"text_only": False}, [], ["a", "b", "c"], "text without audio", 1),
        ({"multi_turn": False}, ["scene_first"], ["s0", "a", "b"], "several turns", 3),
        ({"audio": False}, [], ["s0"], "audio", 3),
        (
            {"clips": 1},
            ["scene_first"],
            ["s0", "a", "b", "a", "a"],
            "conversation with more than 1 sound files",
            1,
        ),
    ],
)
def test_what_a_model_cannot_be_asked_is_left_out_and_counted(
    write_profile, stimuli, lacking, steps, planned, reason, left
):
    study = load_study(write_profile(mitigations=["none", *steps]))
    models = [able(**lacking)]
    assert [t.stimulus_id for t in plan_trials(study, stimuli, models)] == planned
    assert left_out(study, stimuli, models) == {("scripted", reason): left}


def test_a_stimulus_after_other_turns_is_another_trial(write_profile, stimuli):
    study = load_study(write_profile(mitigations=["none"]))
    _, alone, _, after_turns = plan_trials(study, stimuli, [able()])
    assert alone.key != after_turns.key


def test_earlier_turns_come_before_the_utterance(stimuli, tmp_path):
    turns = conversation(stimuli[-1], tmp_path)
    assert [(turn.role, turn.text, turn.audio) for turn in turns] == [
        ("user", None, tmp_path / "b.flac"),
        ("assistant", "I see.", None),
        ("user", None, tmp_path / "clips/a.flac"),
    ]


def test_the_first_step_stands_beside_the_stimulus_and_the_others_follow_it(stimuli, tmp_path):
    text, sound, *_ = stimuli
    turns = conversation(text, tmp_path, "Mind.", ("Heard?", "Now."))
    assert [(turn.role, turn.text) for turn in turns] == [
        ("system", "Mind."),
        ("user", "text 0\nHeard?"),
        ("user", "Now."),
    ]
    [asked] = conversation(sound, tmp_path, steps=("Heard?",))
    assert (asked.audio, asked.text) == (tmp_path / "clips/a.flac", "Heard?")


@pytest.mark.parametrize(
    ("activations", "steered_models", "asked"),
    [(True, None, ["test", "dev"]), (True, ["ref-permissive"], ["test"]), (False, None, ["test"])],
)
def test_core_clips_of_the_dev_split_are_asked_of_models_that_are_steered(
    write_profile, stimuli, activations, steered_models, asked
):
    clips = [
        stimuli[1].model_copy(update={"stimulus_id": name} | changes)
        for name, changes in {
            "test": {"split": Split.TEST},
            "dev": {"split": Split.DEV},
            "dev_text": {"split": Split.DEV, "path": None},
            "dev_pair": {"split": Split.DEV, "block": "multi_turn"},
        }.items()
    ]
    profile = write_profile(mitigations=["none", "scene_first"], steered_models=steered_models)
    trials = plan_trials(load_study(profile), clips, [able(activations=activations)])
    assert [t.stimulus_id for t in trials if t.arm.mitigation == "none"] == asked
    assert {t.stimulus_id for t in trials if t.arm.mitigation != "none"} == {"test"}


def test_probes_ask_of_the_first_clips_of_the_test_split_what_is_heard(write_profile, stimuli):
    asked = {"intent": Intent.PSEUDO_HARMFUL, "split": Split.TEST}
    stimuli = [stimulus.model_copy(update=asked) for stimulus in stimuli]
    later = stimuli[1].model_copy(update={"stimulus_id": "d", "utterance_id": "later"})
    profile = write_profile(mitigations=["none"], probe={"utterances_per_scenario": 1})
    trials = plan_trials(load_study(profile), [*stimuli, later], [able()])
    probes = [(t.stimulus_id, t.arm.mitigation) for t in trials if t.arm.mitigation != "none"]
    assert probes == [
        (name, probe) for probe in ("probe_background", "probe_words") for name in ("a", "b")
    ]


def test_some_mitigations_are_tried_on_the_first_requests_in_doubt_of_the_test_split(
    write_profile, stimuli
):
    of = {
        "first": {},
        "later": {"utterance_id": "v"},
        "harmful": {"utterance_id": "w", "intent": Intent.HARMFUL},
        "plain": {"utterance_id": "y", "intent": Intent.BENIGN},
    }
    common = {"intent": Intent.PSEUDO_HARMFUL, "split": Split.TEST}
    clips = [
        stimuli[1].model_copy(update={"stimulus_id": name} | common | changes)
        for name, changes in of.items()
    ]
    few = {"mitigations": ["scene_first", "sampled_1"], "utterances_per_scenario": 1}
    study = load_study(write_profile(mitigations=["none"], few_mitigated=few))
    trials = [t for t in plan_trials(study, clips, [able()]) if t.arm.mitigation != "none"]
    assert [(t.stimulus_id, t.arm.mitigation) for t in trials] == [
        (name, arm)
        for arm in ("scene_first", "scene_first.control", "sampled_1")
        for name in ("first", "harmful")
    ]


def test_only_sampled_trials_have_a_temperature_and_a_seed(write_profile, stimuli):
    study = load_study(write_profile(mitigations=["none", "sampled_1"]))
    asked = {t.arm.mitigation: t.arm.generation for t in plan_trials(study, stimuli, [able()])}
    assert (asked["none"].temperature, asked["sampled_1"].seed) == (0, 1)
    assert asked["sampled_1"].temperature > 0
