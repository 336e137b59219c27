from pathlib import Path

import pytest

from aor_lib.config.params import load_model_cards, load_study
from aor_lib.config.profile import Prompt
from aor_lib.config.records import Condition, Intent, Split
from aor_lib.inference.asking import response_of
from aor_lib.inference.planning import absent, conversation, forecast, left_out, plan_trials
from aor_lib.inference.store import STORE, Store
from aor_lib.models.base import Answer, Capabilities, Failure
from aor_lib.models.openai_api import OpenAIModel
from aor_lib.stimuli.manifest import load_stimuli, write_manifest
from tests.conftest import ScriptedModel, make_text_stimuli

(TEXT,) = make_text_stimuli(1)
SPOKEN = {"path": "clips/a.flac", "presented_text": None, "duration_s": 10.0}
IN_SCENE = SPOKEN | {"condition": Condition.BENIGN_SCENE}
TURNS = '[{"role": "user", "path": "b.flac"}, {"role": "assistant", "text": "I see."}]'
LATER = IN_SCENE | {"block": "multi_turn", "history": TURNS}
STIMULI = [
    TEXT,
    TEXT.model_copy(update=IN_SCENE | {"stimulus_id": "a"}),
    TEXT.model_copy(update=SPOKEN | {"stimulus_id": "b", "condition": Condition.NOISE}),
    TEXT.model_copy(update=LATER | {"stimulus_id": "c"}),
]


def able(**capabilities):
    model = ScriptedModel()
    model.capabilities = Capabilities(**capabilities)
    return model


def test_mitigations_are_tried_on_core_stimuli_over_benign_scenes(write_profile):
    study = load_study(write_profile())
    trials = plan_trials(study, STIMULI, [able()])
    as_it_is = [(name, "none") for name in ("s0", "a", "b", "c")]
    mitigated = [("a", "chain_of_thought"), ("a", "chain_of_thought.control")]
    assert [(t.stimulus_id, t.arm.mitigation) for t in trials] == as_it_is + mitigated
    assert not left_out(study, STIMULI, [able()])


@pytest.mark.parametrize(
    ("lacks", "planned", "left"),
    [
        ({"text_only": False}, ["a", "b", "c"], 1),
        ({"audio": False}, ["s0"], 3),
        ({"longest_clip_s": 9.0}, ["s0"], 3),
    ],
)
def test_what_a_model_cannot_be_asked_is_left_out_and_counted(write_profile, lacks, planned, left):
    study = load_study(write_profile(mitigations=["none"]))
    models = [able(**lacks)]
    assert [t.stimulus_id for t in plan_trials(study, STIMULI, models)] == planned
    assert sum(left_out(study, STIMULI, models).values()) == left


def test_a_conversation_begins_with_earlier_turns_and_ends_with_the_further_steps():
    text, sound, *_, later = STIMULI
    said = [
        [(turn.role, turn.text or turn.audio) for turn in turns]
        for turns in (
            conversation(later, Path("x")),
            conversation(text, Path("x"), Prompt(instruction="Mind.", steps=("Heard?", "Now."))),
            conversation(sound, Path("x"), Prompt(steps=("Heard?",))),
        )
    ]
    assert said == [
        [("user", Path("x/b.flac")), ("assistant", "I see."), ("user", Path("x/clips/a.flac"))],
        [("system", "Mind."), ("user", "text 0\nHeard?"), ("user", "Now.")],
        [("user", "Heard?")],
    ]


@pytest.mark.parametrize(
    ("activations", "steered_models", "asked"),
    [(True, None, ["test", "dev"]), (True, ["ref-permissive"], ["test"]), (False, None, ["test"])],
)
def test_dev_clips_are_asked_of_steered_models(write_profile, activations, steered_models, asked):
    clips = [
        STIMULI[1].model_copy(update={"stimulus_id": name} | changes)
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


def test_the_time_that_is_left_goes_by_trials_and_by_answers(write_profile, tmp_path):
    write_manifest([clip.model_copy(update={"split": Split.TEST}) for clip in STIMULI], tmp_path)
    profile = write_profile(models=["ref-permissive"], mitigations=["none", "scene_first"])
    study = load_study(profile)
    trials = plan_trials(study, load_stimuli(tmp_path), [absent(study.models[0], {})])
    results = {trials[0].key: (Answer("Sure.", 1), 60.0), trials[-1].key: (Failure("busy"), 900.0)}
    with Store(tmp_path / STORE) as store:
        store.set_plan(trials)
        store.record(response_of(key, *result) for key, result in results.items())
    [row] = forecast(study, tmp_path, study.models).itertuples()
    assert row.minutes == len({t.key for t in trials} - {trials[0].key}) < row.calls


def test_the_revision_of_an_api_names_its_source(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    card = load_model_cards()["gpt-audio"]
    revision = absent(card, {card.id: "before"}).revision
    assert OpenAIModel(card).revision == revision == f"{card.source}@{card.revision}"


def test_probes_ask_what_is_heard_over_the_benign_scenes_of_the_first_requests(write_profile):
    asked = {"intent": Intent.PSEUDO_HARMFUL, "split": Split.TEST}
    reported = [stimulus.model_copy(update=asked) for stimulus in STIMULI]
    later = reported[1].model_copy(update={"stimulus_id": "d", "utterance_id": "later"})
    profile = write_profile(mitigations=["none"], probe={"utterances_per_scenario": 1})
    trials = plan_trials(load_study(profile), [*reported, later], [able()])
    probes = [(t.stimulus_id, t.arm.mitigation) for t in trials if t.arm.mitigation != "none"]
    assert probes == [("a", "probe_background"), ("a", "probe_words")]
