import pytest

from aor_lib.config.params import load_model_cards, load_study
from aor_lib.config.records import Condition
from aor_lib.inference.forecast import designed_stimuli, forecast

CARD = load_model_cards()["gpt-audio"]


@pytest.fixture
def study(write_profile):
    return load_study(write_profile(mitigations=["none", "scene_first"]))


def only(study, cards=(CARD,)):
    [said] = forecast(study, designed_stimuli(study), cards, None)
    return said


def test_an_arm_in_two_steps_has_two_generations_a_trial(study):
    said = only(study)
    heard = [one for one in designed_stimuli(study) if one.path]
    mitigated = sum(one.condition is Condition.BENIGN_SCENE for one in heard)
    assert said.trials == said.left == len(heard) + 2 * mitigated  # a prompt and its control
    assert said.generations == len(heard) + 2 * 2 * mitigated


def test_longer_answers_and_dearer_tokens_cost_more(study):
    longer = study.profile.generation.model_copy(update={"max_new_tokens": 800})
    profile = study.profile.model_copy(update={"generation": longer})
    assert only(study.model_copy(update={"profile": profile})).usd > only(study).usd
    cheap = load_model_cards()["gpt-audio-mini"]
    assert only(study, [cheap]).usd < only(study).usd
    assert only(study, [cheap]).tokens == only(study).tokens


def test_the_caps_of_the_studys_cards_suffice_for_its_largest_profile(params):
    study = load_study(params / "full.yaml")
    cards = [card for card in study.models if card.kind == "openai_api"]
    said = forecast(study, designed_stimuli(study), cards, None)
    assert len(said) >= 3
    assert [one.model for one in said if one.usd > one.cap_usd] == []
