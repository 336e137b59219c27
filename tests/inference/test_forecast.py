import json

from aor_lib.config.params import card_settings, load_study
from aor_lib.config.records import Stimulus
from aor_lib.inference import forecast
from aor_lib.models.api_settings import ApiSettings
from aor_lib.stimuli.design import stimuli as designed


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


def test_the_caps_of_the_studys_cards_suffice_for_its_largest_profile(
    params, tmp_path, monkeypatch
):
    study = load_study(params / "full.yaml")
    cards = [card for card in study.models if card.kind == "openai_api"]
    monkeypatch.setattr(forecast, "load_stimuli", lambda build: stimuli_of(study))
    left = forecast.forecast(study, tmp_path, cards)
    assert len(left) >= 3
    assert (left["calls"] > 0).all()
    assert (left["usd"] <= [card_settings(card, ApiSettings).max_spend_usd for card in cards]).all()
