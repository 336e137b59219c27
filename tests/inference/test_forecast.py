import pytest

from aor_lib.config.params import load_model_cards, load_study
from aor_lib.inference.forecast import forecast

CARD = load_model_cards()["gpt-audio"]


@pytest.fixture
def study(write_profile):
    return load_study(write_profile(mitigations=["none", "scene_first"]))


@pytest.fixture
def only(tmp_path):
    def only(study, card=CARD):
        return forecast(study, tmp_path / "nowhere", [card]).iloc[0]

    return only


def test_an_arm_in_two_steps_has_two_generations_a_trial(study, only):
    said = only(study)
    plain = only(study.model_copy(update={"mitigations": study.mitigations[:1]}))
    assert plain.generations == plain.trials == plain.left > 0
    assert said.generations == plain.generations + 2 * (said.trials - plain.trials)


def test_the_caps_of_the_studys_cards_suffice_for_its_largest_profile(params, tmp_path):
    study = load_study(params / "full.yaml")
    cards = [card for card in study.models if card.kind == "openai_api"]
    said = forecast(study, tmp_path, cards)
    assert len(said) >= 3
    assert (said["usd"] <= said["cap_usd"]).all()
