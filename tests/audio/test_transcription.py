import io

import numpy as np
import pytest
import soundfile
import torch

from aor_lib.audio import speech
from aor_lib.audio.hearing import transcription


def flac(samples: np.ndarray, rate: int = speech.SAMPLE_RATE) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format="FLAC")
    return stream.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("voice", ["af_heart", "am_michael", "bf_emma", "bm_george"])
def test_whisper_hears_what_was_said(voice):
    text = "How long does the soup have to simmer?"
    heard = transcription.transcribe(flac(speech.KokoroVoice(voice).synthesise(text, "normal")))
    assert transcription.word_error_rate(text, heard.transcript) == 0
    assert heard.features.shape == (768,)
    assert heard.features.dtype == np.float32


@pytest.mark.slow
def test_features_do_not_need_a_transcript():
    samples = speech.KokoroVoice("af_heart").synthesise("Good morning, everyone.", "normal")
    heard = transcription.transcribe(flac(samples))
    alone = transcription.encoder_features(samples, speech.SAMPLE_RATE)
    np.testing.assert_allclose(alone, heard.features, atol=0.1)


@pytest.mark.slow
def test_what_computes_after_whisper_has_as_many_threads_as_before():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        transcription.encoder_features(np.zeros(speech.SAMPLE_RATE, np.float32), speech.SAMPLE_RATE)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


@pytest.mark.slow
def test_a_transcript_that_repeats_itself_is_made_again_in_a_full_window(monkeypatch):
    windows = []

    def transcribe(encoded):
        windows.append(encoded.shape[1])
        return "have to have to have to have to" if len(windows) == 1 else "what you have to do"

    monkeypatch.setattr(transcription, "_decode_words", transcribe)
    monkeypatch.setattr(transcription, "load_or_make", lambda name, key, make: make())
    samples = speech.KokoroVoice("af_heart").synthesise("Good morning, everyone.", "normal")
    assert transcription.transcribe(flac(samples)).transcript == "what you have to do"
    assert windows[0] < windows[1] == 1500


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.1, 23, 30])
def test_a_clip_up_to_half_a_minute_is_heard(seconds):
    noise = np.random.default_rng(0).normal(0, 0.01, int(seconds * 16_000))
    assert transcription.transcribe(flac(noise, 16_000)).features.shape == (768,)


@pytest.mark.parametrize(
    ("audio", "message"),
    [
        (b"", "is not an audio file"),
        (b"ID3 something else", "is not an audio file"),
        (flac(np.zeros(100)), "less than 0.1 s"),
        (flac(np.zeros(31 * 8000), 8000), "31.0 s long; at most 30 s"),
    ],
)
def test_what_cannot_be_heard_is_a_clear_error(audio, message):
    with pytest.raises(transcription.HearingError, match=message):
        transcription.transcribe(audio)


@pytest.mark.parametrize(
    ("reference", "transcript", "expected"),
    [
        ("Don't shoot!", "don\u2019t shoot", 0.0),
        ("one two three four", "one two tree four", 0.25),
        ("one", "", 1.0),
    ],
)
def test_word_errors_ignore_case_and_punctuation(reference, transcript, expected):
    assert transcription.word_error_rate(reference, transcript) == expected
