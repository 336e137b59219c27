"""A stimulus is a valid clip or a clear error, for any specification."""

import io

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from aor_lib.audio import mixing, scenes, speech
from aor_lib.audio.speech import SpeechError
from aor_lib.config.params import load_scene, load_study
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Condition, Utterance
from aor_lib.stimuli.design import stimuli
from aor_lib.stimuli.rendering import render

pytestmark = pytest.mark.slow


@pytest.fixture
def spec(write_profile):
    return stimuli(load_study(write_profile(conditions=["benign_scene"])))[0]


@pytest.mark.nightly
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    snr_db=st.floats(-20, 40),
    seed=st.integers(0, 2**63 - 1),
    scene=st.sampled_from(scenes.SCENES),
    condition=st.sampled_from([Condition.BENIGN_SCENE, Condition.NOISE]),
    emotion=st.sampled_from(["neutral", "angry", "fearful", "sad", "happy"]),
)
def test_any_ratio_seed_scene_and_emotion_give_a_valid_clip(
    spec, snr_db, seed, scene, condition, emotion
):
    factors = {"snr_db": snr_db, "seed": seed, "condition": condition, "emotion": emotion}
    factors |= {"scene": load_scene(scene)}
    made = render(spec.model_copy(update=factors), Mixing(), None)
    samples, rate = soundfile.read(io.BytesIO(made.files[made.row.path]))
    assert (samples.ndim, rate) == (1, speech.SAMPLE_RATE)
    assert np.isfinite(samples).all()
    assert made.row.duration_s == pytest.approx(len(samples) / rate)
    assert mixing.true_peak(samples.astype(np.float32)) <= -1 + 0.01


def test_an_utterance_that_makes_too_long_a_clip_is_named(spec):
    utterance = spec.utterance.model_copy(update={"text": "Why? " * 120})
    with pytest.raises(SpeechError, match=rf"{spec.stimulus_id}.* long.*shorten"):
        render(spec.model_copy(update={"utterance": utterance}), Mixing(), None)


@pytest.mark.parametrize("text", ["?!...", "How\nnow"])
def test_a_text_that_cannot_be_said_is_refused_before_anything_is_made(spec, text):
    with pytest.raises(ValidationError, match="text"):
        Utterance.model_validate(spec.utterance.model_dump() | {"text": text})
