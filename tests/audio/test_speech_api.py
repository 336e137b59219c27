"""Voices behind an API, through the real SDK, against a server on this machine."""

import numpy as np
import pytest

from aor_lib.audio import speech
from aor_lib.audio.speech.openai_api import OpenAISpeechVoice
from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import ParamsError, read
from tests.audio.sounds import encoded
from tests.models.loopback import KEY, error, serving

TEXT = "Where is the nearest bus stop?"


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setenv("AOR_CACHE", str(tmp_path / "cache"))
    with serving() as server:
        server.reply = lambda _: wav()
        yield server


def card(server, **settings):
    common = {"model": "tiny", "voice": "ann", "api_key_variable": "TEST_KEY"}
    common |= {"base_url": server.url, "max_retries": 2}
    about = {"id": "tiny-voice", "gender": "female", "licence": "none"}
    return speech.VoiceCard(**about, settings=common | settings)


def spoken(server, **settings):
    return OpenAISpeechVoice(card(server, **settings)).synthesise(TEXT, "normal")


def tone(sample_rate):
    return 0.5 * np.sin(2 * np.pi * 440 * np.arange(sample_rate // 2) / sample_rate)


def wav(sample_rate=speech.SAMPLE_RATE, channels=1, margin_s=0.0, level=1.0):
    sound = level * np.pad(tone(sample_rate), round(margin_s * sample_rate))
    body = encoded(np.stack([sound] * channels, axis=1), sample_rate)
    return 200, {"content-type": "audio/wav"}, body


def assert_is_the_tone(samples):
    expected = tone(speech.SAMPLE_RATE)
    assert samples.dtype == np.float32
    assert len(samples) == pytest.approx(len(expected), abs=speech.SAMPLE_RATE // 40)
    assert np.abs(samples).max() == pytest.approx(0.5, abs=0.02)
    spectrum = np.abs(np.fft.rfft(samples))
    assert spectrum.argmax() / len(samples) * speech.SAMPLE_RATE == pytest.approx(440, abs=4)


def test_a_request_holds_the_text_and_the_settings(server):
    voice = OpenAISpeechVoice(card(server, extra={"instructions": "Speak plainly."}))
    voice.synthesise(TEXT, "fast")
    assert server.bodies == [
        {"model": "tiny", "voice": "ann", "input": TEXT, "response_format": "wav", "speed": 1.25}
        | {"instructions": "Speak plainly."}
    ]
    [request] = server.requests
    assert request.path == "/v1/audio/speech"
    assert request.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "reply",
    [wav(16_000), wav(48_000, channels=2), wav(margin_s=0.7)],
    ids=["16 kHz", "stereo", "silent margins"],
)
def test_a_wav_becomes_mono_speech_at_24_khz_without_silent_margins(server, reply):
    server.reply = lambda _: reply
    assert_is_the_tone(spoken(server))


def test_speech_is_asked_for_once_and_then_kept_without_the_key(server, tmp_path, monkeypatch):
    first = spoken(server)
    monkeypatch.delenv("TEST_KEY")
    assert spoken(server, max_retries=0).tobytes() == first.tobytes()
    assert len(server.requests) == 1
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert kept
    assert not any(KEY.encode() in path.read_bytes() for path in kept)


def test_what_can_change_the_sound_changes_the_revision(server):
    plain, slow, other, seeded = (
        OpenAISpeechVoice(card(server, **change)).revision
        for change in ({}, {"timeout_s": 9}, {"model": "other"}, {"extra": {"seed": 1}})
    )
    assert slow == plain
    assert len({plain, other, seeded}) == 3


@pytest.mark.parametrize(
    "reply",
    [
        error(500, "boom"),
        error(401, f"what is\n{KEY}?"),
        (200, {"content-type": "text/html"}, b"<p>Log in"),
        wav(level=0.0),
    ],
    ids=["fails", "refuses the key", "no sound", "silent"],
)
def test_what_is_no_speech_is_an_error_that_names_the_voice_and_is_not_kept(server, reply):
    server.reply = lambda _: reply
    for _ in range(2):
        with pytest.raises(speech.SpeechError, match="voice 'tiny-voice'") as refused:
            spoken(server, max_retries=0)
        assert KEY not in str(refused.value)
        assert "\n" not in str(refused.value)
    assert len(server.requests) == 2


def test_a_key_is_needed_only_where_the_card_names_its_variable(server, monkeypatch):
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(speech.SpeechError, match=r"\$TEST_KEY"):
        spoken(server)
    assert_is_the_tone(spoken(server, api_key_variable=None))
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer none"]


def test_a_voice_is_plugged_in_by_a_file(server, tmp_path):
    (tmp_path / "voices").mkdir()
    (tmp_path / "voices/tiny-voice.yaml").write_text(card(server).model_dump_json())
    voice = speech.load_voice("tiny-voice", tmp_path)
    assert speech.gender_of("tiny-voice", tmp_path) == "female"
    assert_is_the_tone(voice.synthesise(TEXT, "normal"))
    (tmp_path / "voices/tiny-voice.yaml").rename(tmp_path / "voices/other.yaml")
    with pytest.raises(ParamsError, match=r"other\.yaml: id"):
        speech.load_voice("other", tmp_path)


def test_the_cards_of_the_study_name_no_host():
    for path in (PARAMS / "voices").glob("*.yaml"):
        assert read(path, speech.VoiceCard).settings.base_url is None
