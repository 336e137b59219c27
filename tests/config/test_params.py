from itertools import pairwise

import pytest
import yaml

from aor_lib.config.params import PARAMS, card_settings, load_model_cards, load_prompts, load_study
from aor_lib.config.profile import PROBES
from aor_lib.config.records import Utterance
from aor_lib.config.typed_yaml import ParamsError, validated
from aor_lib.models.api_settings import ApiSettings
from tests.audio.sounds import put

SOME = {"utterances_per_scenario": 1}


@pytest.mark.parametrize("name", ["smoke", "laptop", "reference", "steering", "full"])
def test_profiles_of_the_repository_are_valid_and_their_voices_alternate_in_gender(name):
    profile = load_study(PARAMS / f"{name}.yaml").profile
    assert profile.name == name
    genders = [voice[1] for voice in profile.voices]
    assert all(one != other for one, other in pairwise([*genders, genders[0]]))


def test_every_prompt_has_a_control_with_as_many_words_that_says_nothing_of_sound():
    told = [p for p in load_prompts() if (p.instruction or p.steps) and p.id not in PROBES]
    assert len(told) == 4
    for prompt in told:
        wordings = [prompt.instruction or "", *prompt.steps]
        neutral = [prompt.control.instruction or "", *prompt.control.steps]
        for words, control in zip(wordings, neutral, strict=True):
            assert abs(len(words.split()) - len(control.split())) <= 1, prompt.id
            assert not set(control.lower().split()) & {"sound", "sounds", "heard", "scene"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mixing": {"snr": 3}}, "tiny.yaml: mixing: snr: unknown key; did you mean 'snr_db'"),
        ({"mixing": {"snr_db": 99}}, r"mixing.snr_db: .* not 99"),
        ({"scenarios": ["kitchn"]}, "no scenarios/kitchn.yaml; did you mean 'kitchen'"),
        ({"mitigations": ["chain_of_thought"]}, "must hold 'none'"),
        ({"mitigations": ["none", *PROBES]}, "must hold no probe"),
        ({"few_mitigated": {"mitigations": ["chain_of_thought"]} | SOME}, r"names .* twice"),
        ({"voices": ["af_heart", "af_heart"]}, "voices names 'af_heart' twice"),
        ({"conditions": ["as_found"]}, "conditions must not include 'as_found'"),
        ({"steered_models": ["ref-emotive"]}, "steered_models names 'ref-emotive'"),
        ({"utterances_per_scenario": {"pseudo_harmful": 999}}, "pseudo_harmful: 999 .*kitchen"),
    ],
)
def test_a_wrong_profile_is_one_line_naming_file_field_and_value(write_profile, changes, message):
    with pytest.raises(ParamsError, match=message) as caught:
        load_study(write_profile(**changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("line", "word"), [("seed: 2024-02-30", "day"), ("name: a", "'name'")])
def test_a_date_that_is_none_and_a_key_twice_are_named_with_the_file(write_profile, line, word):
    path = write_profile(seed=0)
    path.write_text(path.read_text().replace("seed: 0", line))
    with pytest.raises(ParamsError, match=rf"tiny\.yaml: .*{word}"):
        load_study(path)


@pytest.mark.parametrize(
    ("field", "names", "message"),
    [
        ("scenes", ["home_kichen"], "there is no 'home_kichen'; did you mean 'home_kitchen'"),
        ("threatening_scenes", ["beach"], "there is no 'beach'"),
        ("contrast_of", "kitchen-ph-999", "there is no 'kitchen-ph-999'"),
    ],
)
def test_what_an_utterance_names_in_vain_is_named_with_it(write_profile, field, names, message):
    path = write_profile()
    data = yaml.safe_load((PARAMS / "scenarios/kitchen.yaml").read_text())
    data["utterances"][0][field] = names
    put(path.parent / "scenarios/kitchen.yaml", yaml.safe_dump(data))
    with pytest.raises(ParamsError, match=f"utterance 'kitchen-ph-001': {field}: {message}"):
        load_study(path)


@pytest.mark.parametrize("copied", ["scenario", "history"])
def test_an_id_that_a_study_has_twice_is_named(write_profile, copied):
    path = write_profile(scenarios=["kitchen", "mine"], multi_turn={"utterances_per_scenario": 1})
    scenario = yaml.safe_load((PARAMS / "scenarios/kitchen.yaml").read_text()) | {"id": "mine"}
    for utterance in scenario["utterances"]:
        if copied == "history":
            utterance["id"] = f"mine-{utterance['id']}"
            utterance.pop("contrast_of", None)
        utterance["scenes"] = ["mine_1"]
    put(path.parent / "scenarios/mine.yaml", yaml.safe_dump(scenario))
    for name in ("mine_1", "mine_2"):
        scene = yaml.safe_load((PARAMS / "scenes/home_kitchen.yaml").read_text())
        own = yaml.safe_dump(scene | {"id": name, "scenario": "mine"})
        put(path.parent / f"scenes/{name}.yaml", own)
    histories = yaml.safe_load((PARAMS / "histories.yaml").read_text())
    if copied == "history":
        histories["histories"].append(histories["histories"][0])
    put(path.parent / "histories.yaml", yaml.safe_dump(histories))
    field = {"scenario": "kitchen, mine: utterance", "history": r"histories\.yaml: history"}[copied]
    with pytest.raises(ParamsError, match=f"{field} '.*twice"):
        load_study(path)


def test_a_study_has_the_scenes_of_its_scenarios_and_those_of_none(write_profile):
    path = write_profile(scenarios=["kitchen"])
    text = (PARAMS / "scenes/barbecue.yaml").read_text().replace("id: barbecue", "id: campfire")
    put(path.parent / "scenes/campfire.yaml", text)
    study = load_study(path)
    assert {scene.scenario for scene in study.scenes.values()} == {"kitchen", None}
    assert "campfire" in {scene.id for scene in study.scenarios[0].scenes}


def test_what_can_change_an_answer_is_a_setting_and_nothing_else_is():
    def read(**update):
        return card_settings(load_model_cards()["gpt-audio"].model_copy(update=update), ApiSettings)

    with pytest.raises(ParamsError, match="settings: 'timeout_s' belongs under reach"):
        read(settings={"timeout_s": 5}, reach={})
    with pytest.raises(ParamsError, match="gpt-audio: reach: 'stream' belongs under settings"):
        read(settings={}, reach={"stream": True})


@pytest.mark.parametrize(
    ("wrong", "changes"),
    [
        *(("text", {"text": text}) for text in ("?!...", "How\nnow", "")),
        *(("harm_category", {"intent": intent}) for intent in ("pseudo_harmful", "harmful")),
        ("harm_category", {"intent": "harmful", "harm_category": "rudeness"}),
        ("harm_category", {"harm_category": "violence"}),
    ],
)
def test_a_text_can_be_said_and_has_a_harm_category_just_if_it_sounds_harmful(wrong, changes):
    row = {"id": "u", "scenario": "s", "intent": "benign", "scenes": ["cafe"], "text": "Cut it."}
    with pytest.raises(ParamsError, match=f"{wrong}: "):
        validated(row | changes, Utterance, "here")
