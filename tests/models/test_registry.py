import pytest

from aor_lib.config.params import card_settings, load_model_cards
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Answer, Failure, ModelError
from aor_lib.models.registry import ask, claimed_capabilities, load_model
from tests.conftest import ScriptedModel

CARDS = load_model_cards()
STUDIED = [card for card in CARDS.values() if card.family != "Reference"]


@pytest.mark.parametrize("card", STUDIED, ids=lambda card: card.id)
def test_a_card_says_what_the_model_is_and_what_it_needs(card):
    assert card.licence
    assert card.source
    if card.kind == "openai_api":
        settings = card_settings(card, ApiSettings)
        assert not settings.base_url or settings.base_url.startswith("$")
        assert settings.max_spend_usd
        assert claimed_capabilities(card).text_only == (card.family != "OpenAI")
        return
    if card.kind == "llama_cpp":
        assert len(card.revision) == 40 or "do not know the commit" in card.note
        for wrong in ({"max_retries": -1}, {"timeout_s": 0}):
            with pytest.raises(ParamsError, match=min(wrong)):
                claimed_capabilities(card.model_copy(update={"reach": wrong}))
        return
    # bfloat16 weights and a fifth more.
    assert card.memory_gib == pytest.approx(card.parameters_b * 2e9 / 2**30 * 1.2, abs=1.0)


def test_a_model_is_asked_one_question_and_a_failure_is_no_answer(tmp_path):
    assert ask(ScriptedModel(), text="Hello?") == Answer("HELLO?", 2)
    silent = ScriptedModel(lambda text: Failure("busy"))
    with pytest.raises(ModelError, match="busy"):
        ask(silent, tmp_path / "clip.wav", instruction="Think first.")


@pytest.mark.parametrize("kind", ["cascde", "no_such_module:Mine", "json:Mine"])
def test_an_unknown_kind_is_named(kind):
    with pytest.raises(ParamsError, match=f"ref-permissive: kind: .*{kind}"):
        load_model(CARDS["ref-permissive"].model_copy(update={"kind": kind}))
