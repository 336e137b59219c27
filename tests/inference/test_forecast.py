import json

import pytest

from aor_lib.config.params import load_model_cards, load_study
from aor_lib.config.records import Stimulus
from aor_lib.inference import forecast
from aor_lib.stimuli.design import stimuli as designed

CARD = load_model_cards()["gpt-audio"]


def stimuli_of(study):
    """Make the rows of a study's manifest, without clips: as if each took ten seconds."""
    stimuli = []
    for spec in designed(study):
        heard = spec.condition.has_audio
        turns = [
            {"role": role, "text": text, "path": "clips/history.flac"}
            for turn in (spec.history.turns if spec.history else ())
            for role, text in (("user", turn.said), ("assistant", turn.answered))
        ]
        stimuli.append(
            Stimulus.model_construct(
                stimulus_id=spec.stimulus_id,
                utterance_id=spec.utterance.id,
                scenario=spec.utterance.scenario,
                intent=spec.utterance.intent,
                text=spec.utterance.text,
                presented_text=None if heard else spec.utterance.text,
                duration_s=10.0 if heard else None,
                block=spec.block,
                condition=spec.condition,
                path=f"clips/{spec.stimulus_id}.flac" if heard else None,
                sha256=spec.stimulus_id,
                history=json.dumps(turns),
                split=spec.utterance.split,
            )
        )
    return stimuli


@pytest.fixture
def study(write_profile):
    return load_study(write_profile(mitigations=["none", "scene_first"]))


@pytest.fixture
def forecasts(tmp_path, monkeypatch):
    """Forecasts of cards, on the stimuli of a study's design."""

    def forecasts(study, cards):
        monkeypatch.setattr(forecast, "load_stimuli", lambda build: stimuli_of(study))
        return forecast.forecast(study, tmp_path, cards)

    return forecasts


@pytest.fixture
def only(forecasts):
    return lambda study, card=CARD: forecasts(study, [card]).iloc[0]


def test_an_arm_in_two_steps_has_two_generations_a_trial(study, only):
    said = only(study)
    plain = only(study.model_copy(update={"mitigations": study.mitigations[:1]}))
    assert plain.generations == plain.trials == plain.left > 0
    assert said.generations == plain.generations + 2 * (said.trials - plain.trials)


def test_the_caps_of_the_studys_cards_suffice_for_its_largest_profile(params, forecasts):
    study = load_study(params / "full.yaml")
    cards = [card for card in study.models if card.kind == "openai_api"]
    said = forecasts(study, cards)
    assert len(said) >= 3
    assert (said["usd"] <= said["cap_usd"]).all()
