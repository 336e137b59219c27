import pandas as pd

from aor_lib.config.params import ModelCard, load_model_cards
from book._ext.model_cards import in_full, is_pinned, overview

CARD = ModelCard(
    id="my-model", title="My <b>model</b>", family="My", kind="hf", licence="MIT", source="me/my"
)
ANSWERED = pd.DataFrame(
    [(CARD.id, "abc", "2 cores", "3.11", "full")],
    columns=["model", "revision", "device", "python", "profile"],
)
MEASURED = pd.DataFrame(
    [
        ("pseudo_harmful", "condition", "benign_scene", 0.25, 0.1, 0.5),
        ("harmful", "condition", "benign_scene", 0.75, 0.5, 0.9),
        ("pseudo_harmful", "emotion", "angry", 1.0, 0.8, 1.0),
    ],
    columns=["intent", "factor", "level", "rate", "low", "high"],
).assign(model=CARD.id, revision="abc", utterances=12, judge="speech-acts 8.0")


def test_a_revision_is_pinned_by_hashed_weights_or_a_commit_and_not_by_a_name():
    commit = CARD.model_copy(update={"revision": "0123456789abcdef" * 2 + "01234567"})
    assert [is_pinned(CARD), is_pinned(commit)] == [False, True]
    assert is_pinned(load_model_cards()["ref-permissive"])
    # A server may have been started with any.
    assert not is_pinned(commit.model_copy(update={"kind": "openai_api"}))


def test_the_table_leads_to_cards_that_say_where_a_model_answered_and_what_was_measured():
    table = overview([CARD], {CARD.id: 1_200})
    page = in_full([CARD], "hf", ANSWERED, MEASURED)
    assert 'href="#model-my-model"' in table
    assert "<td>1,200</td>" in table
    assert 'id="model-my-model"' in page
    assert "<b>" not in table + page
    assert "My &lt;b&gt;model&lt;/b&gt;" in table
    assert "abc, on 2 cores, Python 3.11, in the study &#x27;full&#x27;" in page
    assert "<td>25.0% (10.0% to 50.0%, n = 12)</td>" in page
    assert "<td>not asked</td>" in page
    assert "another revision" not in page
    assert "another revision" in in_full([CARD], "hf", ANSWERED, MEASURED.assign(revision="old"))
    assert "Answered here" not in in_full([CARD], "hf", ANSWERED[:0], MEASURED)
