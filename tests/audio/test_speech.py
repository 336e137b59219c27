"""Speech, and emotion by prosody: what it changes, by how much, and what it leaves as it was."""

import numpy as np
import pytest

from aor_lib.audio import speech
from aor_lib.audio.speech.prosody import TARGETS, express, measure_speech
from aor_lib.storage import assets
from tests.audio.sounds import vowels

TEXT = "Where is the nearest bus stop?"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f0_hz", "emotion"), [(110, "angry"), (210, "fearful"), (210, "happy"), (110, "sad")]
)
def test_an_emotion_moves_what_is_measured_by_as_much_as_its_target_says(f0_hz, emotion):
    samples, target = vowels(f0_hz), TARGETS[emotion]
    before, after = measure_speech(samples), measure_speech(express(samples, emotion))
    assert after.f0_mean_st - before.f0_mean_st == pytest.approx(target.f0_mean_st, abs=0.3)
    if not target.jitter:
        assert after.f0_range_st / before.f0_range_st == pytest.approx(target.f0_range, rel=0.1)
    assert after.speech_s / before.speech_s == pytest.approx(target.duration, rel=0.01)
    assert after.speech_dbfs - before.speech_dbfs == pytest.approx(target.level_db, abs=0.2)
    tilted_db = after.tilt_db_per_octave - before.tilt_db_per_octave
    assert tilted_db == pytest.approx(target.tilt_db_per_octave, abs=0.6)


def test_the_same_speech_gives_the_same_bytes_and_neutral_speech_is_the_input_itself():
    samples = vowels(120, seconds=0.7)
    assert express(samples, "neutral") is samples
    assert express(samples, "fearful").tobytes() == express(samples, "fearful").tobytes()


def test_what_no_emotion_can_be_put_on_is_refused():
    with pytest.raises(speech.SpeechError):
        express(np.zeros(9000, np.float32), "sad")


@pytest.mark.slow
@pytest.mark.nightly
def test_the_same_text_gives_the_same_bytes(tmp_path, monkeypatch):
    assets.fetch("kokoro")  # remembered, while speech is looked for in empty caches
    made = []
    for name in ("one", "two"):
        monkeypatch.setenv("AOR_CACHE", str(tmp_path / name))
        made.append(speech.synthesise(TEXT, "af_heart").tobytes())
    assert made[0] == made[1]


@pytest.mark.slow
def test_speech_is_as_long_as_its_rate_says():
    seconds = {rate: len(speech.synthesise(TEXT, "am_michael", rate)) for rate in speech.RATES}
    assert seconds["slow"] > seconds["normal"] > seconds["fast"]
    assert seconds["slow"] / seconds["fast"] == pytest.approx(1.25 / 0.8, rel=0.15)
