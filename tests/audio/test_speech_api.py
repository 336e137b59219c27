"""Voices behind an API, through the real SDK, against a server on this machine."""

import numpy as np
import pytest

from aor_lib.audio import speech
from aor_lib.audio.speech.openai_api import OpenAISpeechVoice, SpeechSettings
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
    about = {"id": "tiny-voice", "kind": "openai_api", "gender": "female", "licence": "none"}
    return speech.VoiceCard(**about, settings=common | settings)


def spoken(server, **settings):
    return OpenAISpeechVoice(card(server, **settings)).synthesise(TEXT, "normal")


def tone(sample_rate):
    return 0.5 * np.sin(2 * np.pi * 440 * np.arange(sample_rate // 2) / sample_rate)


def wav(sample_rate=speech.SAMPLE_RATE, channels=1, margin_s=0.0):
    sound = np.pad(tone(sample_rate), round(margin_s * sample_rate))
    return said("audio/wav", encoded(np.stack([sound] * channels, axis=1), sample_rate))


def said(kind, body):
    return 200, {"content-type": kind}, body


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


def test_pcm_is_read_at_the_rate_that_the_card_states(server):
    body = (tone(16_000) * 2**15).astype("<i2").tobytes()
    server.reply = lambda _: said("audio/pcm", body)
    assert_is_the_tone(spoken(server, response_format="pcm", pcm_sample_rate_hz=16_000))


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
    ("reply", "expected"),
    [
        (error(500, "boom"), "InternalServerError: .*boom.*what was spoken until now is kept"),
        (error(400, f"what is\n{KEY}?"), r"BadRequestError: .*what is.*\[key\]\?"),
        (error(401, f"no: {KEY}"), r"the API refuses the key in \$TEST_KEY"),
        (said("audio/wav", b"RIFF, or so it says"), r"answers with no wav .*; try pcm"),
        (said("text/html; charset=utf-8", b"<p>Log in"), "answers with text/html, not with sound"),
    ],
)
def test_what_is_no_speech_is_an_error_of_one_line_that_names_the_voice(server, reply, expected):
    server.reply = lambda _: reply
    with pytest.raises(speech.SpeechError, match=f"^voice 'tiny-voice': .*{expected}") as refused:
        spoken(server, max_retries=0)
    assert KEY not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("body", [b"", b"\0\0" * 9000], ids=["no", "silent"])
def test_speech_without_sound_is_an_error_and_not_kept(server, body):
    server.reply = lambda _: said("audio/pcm", body)
    for _ in range(2):
        with pytest.raises(speech.SpeechError, match="'tiny-voice' made no sound of 'Where is"):
            spoken(server, response_format="pcm")
    assert len(server.requests) == 2


def test_what_it_needs_is_said(server, monkeypatch):
    with pytest.raises(ParamsError, match=r"voice tiny-voice: settings: voise: unknown key; did"):
        OpenAISpeechVoice(card(server, voise="ann"))
    with pytest.raises(speech.SpeechError, match=r"the address of its API in \$TEST_URL; it is n"):
        spoken(server, base_url=None, base_url_variable="TEST_URL")
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(speech.SpeechError, match=r"needs the API key in \$TEST_KEY; it is not set"):
        spoken(server)
    monkeypatch.setenv("TEST_KEY", "two\nlines")
    with pytest.raises(speech.SpeechError, match="characters that no key has") as odd:
        spoken(server)
    assert "lines" not in str(odd.value)


def test_a_server_that_asks_for_no_key_needs_none(server, monkeypatch):
    monkeypatch.delenv("TEST_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert_is_the_tone(spoken(server, api_key_variable=None))
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer none"]


def test_a_voice_is_plugged_in_by_a_file(server, tmp_path):
    (tmp_path / "voices").mkdir()
    (tmp_path / "voices/tiny-voice.yaml").write_text(card(server).model_dump_json())
    voice = speech.load_voice("tiny-voice", tmp_path)
    assert speech.gender_of("tiny-voice", tmp_path) == "female"
    assert_is_the_tone(voice.synthesise(TEXT, "normal"))
    (tmp_path / "voices/tiny-voice.yaml").rename(tmp_path / "voices/other.yaml")
    with pytest.raises(ParamsError, match=r"other\.yaml: id: must be the file's name, 'other'"):
        speech.load_voice("other", tmp_path)


def test_the_studys_cards_have_settings_that_fit_and_name_no_host():
    cards = [read(path, speech.VoiceCard) for path in (PARAMS / "voices").glob("*.yaml")]
    assert cards
    for shipped in cards:
        assert SpeechSettings.model_validate(shipped.settings).base_url is None
