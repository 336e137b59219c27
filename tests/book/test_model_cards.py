import pandas as pd

from aor_lib.analysis.reference_rates import load_measured
from aor_lib.config.params import ModelCard, load_model_cards
from aor_lib.inference.provenance import Provenance
from book._ext.model_cards import is_verified, model_pages, overview

CARD = ModelCard(
    id="my-model",
    title="My <b>model</b>",
    family="Mine",
    kind="hf",
    licence="Apache-2.0",
    source="me/mine",
    settings={"architecture": "qwen2_audio", "dtype": "float32"},
)
NOBODY = pd.DataFrame(columns=list(Provenance.model_fields))
UNMEASURED = pd.DataFrame(columns=load_measured().columns)
ANSWERED = NOBODY.assign(model=[CARD.id], revision="abc", profile="full").fillna("")


def measured(model, revision="abc"):
    rates = [
        ("pseudo_harmful", "condition", "benign_scene", 0.25, 0.1, 0.5),
        ("harmful", "condition", "benign_scene", 0.75, 0.5, 0.9),
        ("pseudo_harmful", "emotion", "angry", 1.0, 0.8, 1.0),
    ]
    frame = pd.DataFrame(rates, columns=["intent", "factor", "level", "rate", "low", "high"])
    return frame.assign(model=model, revision=revision)


def test_a_revision_is_verified_by_hashed_weights_or_a_commit_and_not_by_a_name():
    commit = CARD.model_copy(update={"revision": "0123456789abcdef" * 2 + "01234567"})
    assert [is_verified(CARD), is_verified(commit)] == [False, True]
    assert is_verified(load_model_cards()["ref-permissive"])
    # A server may have been started with any.
    assert not is_verified(commit.model_copy(update={"kind": "openai_api"}))


def test_what_a_card_says_is_text_and_never_markup():
    shown = overview([CARD], {}).html + model_pages({CARD.id: CARD}, "hf", NOBODY, UNMEASURED).html
    assert "<b>" not in shown
    assert "My &lt;b&gt;model&lt;/b&gt;" in shown


def test_the_table_leads_to_each_card_which_says_what_answered_where_and_in_which_study():
    table = overview([CARD], {CARD.id: 1_200}).html
    assert 'href="#model-my-model"' in table
    assert "<td>1,200</td>" in table
    answered = ANSWERED.assign(device="2 cores", python="3.11")
    pages = model_pages({CARD.id: CARD}, "hf", answered, UNMEASURED).html
    assert 'id="model-my-model"' in pages
    assert "abc, on 2 cores, Python 3.11, in the study &#x27;full&#x27;" in pages
    assert "Answered here" not in model_pages({CARD.id: CARD}, "hf", NOBODY, UNMEASURED).html


def test_measured_rates_stand_by_level_and_intent_with_their_intervals():
    page = model_pages({CARD.id: CARD}, "hf", ANSWERED, measured(CARD.id)).html
    assert "<th>Pseudo-harmful</th>" in page
    assert "<td>25.0% (10.0% to 50.0%)</td>" in page
    assert "<td>not asked</td>" in page
    assert "intent" not in page  # the name of what the columns are is no column
    assert "another revision" not in page
    older = measured(CARD.id, revision="older")
    page = model_pages({CARD.id: CARD}, "hf", ANSWERED, older).html
    assert "another revision" in page


def test_a_table_that_is_wider_than_the_page_scrolls_by_itself_and_by_keyboard():
    page = model_pages({CARD.id: CARD}, "hf", ANSWERED, measured(CARD.id)).html
    for shown in (page, overview([CARD], {}).html):
        before, _ = shown.split("<table")
        assert '<div class="aor-scroll" role="region" tabindex="0"' in before.splitlines()[-1]


def test_cards_of_one_kind_are_shown_or_that_there_are_none():
    cards = load_model_cards() | {"own": CARD.model_copy(update={"id": "own", "kind": "mine:Own"})}
    assert 'id="model-own"' in model_pages(cards, None, NOBODY, UNMEASURED).html
    assert 'id="model-own"' not in model_pages(cards, "cascade", NOBODY, UNMEASURED).html
    assert "There is none" in model_pages({}, "hf", NOBODY, UNMEASURED).html
