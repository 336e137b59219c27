"""Earlier turns of a conversation."""

import json

import pandas as pd
import pytest

from aor_lib.config.params import PARAMS
from aor_lib.config.profile import Histories
from aor_lib.config.typed_yaml import read
from aor_lib.report.histories import conversation, in_words


@pytest.fixture
def trials(clip_row, answer_row):
    turns = [
        {"role": "user", "text": "Can you <b>hear</b> me?", "path": "clips/a b.turn1.flac"},
        {"role": "assistant", "text": "Yes."},
    ]
    said = {"history": json.dumps(turns), "response": "I <i>won't</i> help."}
    return pd.DataFrame([clip_row | answer_row | said | {"path": "clips/last.flac"}])


def test_a_history_in_words_says_where_the_scene_is_heard():
    histories = {one.id: one for one in read(PARAMS / "histories.yaml", Histories).histories}
    assert in_words(histories["scene_before"]).count("in the scene") == 1
    assert in_words(histories["long"]).count("in the scene") == 4


def test_a_conversation_can_be_heard_turn_by_turn_and_is_escaped(trials):
    html = conversation(trials, "clips").html
    assert html.index("clips/a%20b.turn1.flac") < html.index("“Yes.”") < html.index("last.flac")
    assert "<b>hear" not in html
    assert "<i>won" not in html
    assert "&lt;b&gt;hear" in html


def test_without_a_history_there_is_a_note(trials):
    assert conversation(trials.head(0), "clips").markdown
