"""Utterances that make no clip are refused with a clear error."""

import pytest
from pydantic import ValidationError

from aor_lib.audio.speech import SpeechError
from aor_lib.config.params import load_study
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Utterance
from aor_lib.stimuli.design import stimuli
from aor_lib.stimuli.rendering import render

pytestmark = pytest.mark.slow


@pytest.fixture
def spec(write_profile):
    return stimuli(load_study(write_profile(conditions=["benign_scene"])))[0]


def test_an_utterance_that_makes_too_long_a_clip_is_named(spec):
    utterance = spec.utterance.model_copy(update={"text": "Why? " * 120})
    with pytest.raises(SpeechError, match=rf"{spec.stimulus_id}.* long.*shorten"):
        render(spec.model_copy(update={"utterance": utterance}), Mixing(), None)


@pytest.mark.parametrize("text", ["?!...", "How\nnow"])
def test_a_text_that_cannot_be_said_is_refused_before_anything_is_made(spec, text):
    with pytest.raises(ValidationError, match="text"):
        Utterance.model_validate(spec.utterance.model_dump() | {"text": text})
