import pytest

from aor_lib.config.params import load_study
from aor_lib.config.records import Condition
from aor_lib.inference.planning import left_out, plan_trials
from aor_lib.models.base import Capabilities
from tests.inference.scripted import Scripted, text_stimuli


def stimuli():
    """A text, the same as a sound in two conditions, and a sound after earlier turns."""
    text = text_stimuli(1)[0]
    sound = {"path": "clips/a.flac", "presented_text": None}
    return [
        text,
        text.model_copy(update=sound | {"stimulus_id": "a", "condition": Condition.MATCHED}),
        text.model_copy(update=sound | {"stimulus_id": "b", "condition": Condition.NOISE}),
        text.model_copy(
            update=sound
            | {
                "stimulus_id": "c",
                "condition": Condition.MATCHED,
                "block": "multi_turn",
                "history": '[{"role": "assistant", "text": "I see."}]',
            }
        ),
    ]


def able(**capabilities: bool) -> Scripted:
    model = Scripted()
    model.capabilities = Capabilities(**capabilities)
    return model


def test_mitigations_are_tried_on_core_stimuli_of_the_chosen_conditions(write_profile):
    study = load_study(write_profile(mitigated_conditions=["matched"]))
    trials = plan_trials(study, stimuli(), [Scripted()])
    assert [(t.stimulus_id, t.arm.mitigation) for t in trials] == [
        *(("s0", "none"), ("a", "none"), ("b", "none"), ("c", "none")),
        ("a", "chain_of_thought"),
        ("a", "chain_of_thought.control"),
    ]


def test_a_prompt_in_steps_is_for_models_that_take_several_turns(write_profile):
    study = load_study(write_profile(mitigations=["none", "scene_first"]))
    [first, *_, last] = plan_trials(study, stimuli(), [Scripted()])
    assert first.arm.steps == ()
    assert last.arm.mitigation == "scene_first.control"
    assert len(last.arm.steps) == 2
    model = able(multi_turn=False)
    planned = plan_trials(study, stimuli(), [model])
    assert {trial.arm.mitigation for trial in planned} == {"none"}
    assert left_out(study, stimuli(), [model])["scripted", "several turns"] > 1


@pytest.mark.parametrize(
    ("lacking", "planned", "left"),
    [
        ({"text_only": False}, ["a", "b", "c"], {("scripted", "text without audio"): 1}),
        ({"multi_turn": False}, ["s0", "a", "b"], {("scripted", "several turns"): 1}),
        ({"audio": False}, ["s0"], {("scripted", "audio"): 3}),
    ],
)
def test_what_a_model_cannot_be_asked_is_left_out_and_counted(
    write_profile, lacking, planned, left
):
    study = load_study(write_profile(mitigations=["none"]))
    models = [able(**lacking)]
    assert [t.stimulus_id for t in plan_trials(study, stimuli(), models)] == planned
    assert left_out(study, stimuli(), models) == left


def test_a_model_that_takes_everything_leaves_nothing_out(write_profile):
    study = load_study(write_profile())
    assert not left_out(study, stimuli(), [Scripted()])


def test_a_stimulus_after_other_turns_is_another_trial(write_profile):
    study = load_study(write_profile(mitigations=["none"]))
    keys = {trial.stimulus_id: trial.key for trial in plan_trials(study, stimuli(), [Scripted()])}
    assert keys["a"] != keys["c"]
