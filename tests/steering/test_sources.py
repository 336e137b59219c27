"""Texts and clips that a model is given, so that directions can be compared."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aor_lib.models.base import Turn
from aor_lib.steering.activations import record
from aor_lib.steering.sources import REFUSAL, record_sources
from tests.audio.sounds import quiet


@pytest.fixture
def asked():
    """Two utterances over two scenes, and their conversations."""
    rows = [
        (intent, f"{intent} words", Path(f"{intent}.{scene}.flac"))
        for intent in ("harmful", "benign")
        for scene in ("kitchen", "alley")
    ]
    answers = pd.DataFrame(rows, columns=["intent", "text", "path"])
    return answers.assign(utterance_id=answers["text"]), [
        (Turn("user", audio=path),) for path in answers["path"]
    ]


def test_each_text_is_read_once_and_stands_for_all_its_clips(asked, steerable):
    read = []

    class Noting(steerable):
        def logits(self, conversation):
            read.append((conversation[-1].text, conversation[-1].audio))
            return super().logits(conversation)

    answers, conversations = asked
    model = Noting()
    recorded = record(model, conversations)
    sources = record_sources(model, answers, conversations, recorded, quiet)
    given = read[len(conversations) :]
    assert given == [
        ("harmful words", None),
        ("benign words", None),
        (REFUSAL, answers["path"].iloc[0]),
    ]
    as_text = sources.others["text"](1)
    assert as_text.shape == (len(answers), model.WIDTH)
    np.testing.assert_array_equal(as_text[0], as_text[1])
    assert sources.refusing[1, model.SOUNDS_HARMFUL] == pytest.approx(1)
    np.testing.assert_array_equal(sources.others["audio_tokens"](1), recorded.audio_tokens[:, 1])


def test_a_model_that_hears_words_alone_has_no_audio_tokens(asked, steerable):
    answers, conversations = asked
    recorded = replace(record(steerable(), conversations), audio_tokens=None)
    sources = record_sources(steerable(), answers, conversations, recorded, quiet)
    assert set(sources.others) == {"text"}
