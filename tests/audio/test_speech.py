import pytest

from aor_lib.audio import speech
from aor_lib.config.typed_yaml import ParamsError

TEXT = "Where is the nearest bus stop?"

pytestmark = pytest.mark.slow


@pytest.fixture
def uncached(tmp_path, monkeypatch):
    """Speech is made anew: the voice's weights are shared, its cached results are not."""
    from aor_lib.storage import assets

    weights = assets.fetch("kokoro")
    monkeypatch.setenv("AOR_CACHE", str(tmp_path))
    monkeypatch.setattr(assets, "fetch", lambda asset_id: weights)


@pytest.mark.nightly
def test_the_same_text_gives_the_same_bytes(uncached, tmp_path):
    voice = speech.KokoroVoice("af_heart")
    first = voice.synthesise(TEXT, "normal")
    for kept in tmp_path.rglob("*.npz"):
        kept.unlink()
    assert voice.synthesise(TEXT, "normal").tobytes() == first.tobytes()


def test_speech_is_as_long_as_its_rate_says():
    voice = speech.KokoroVoice("am_michael")
    seconds = {
        rate: len(voice.synthesise(TEXT, rate)) / speech.SAMPLE_RATE for rate in speech.RATES
    }
    assert seconds["slow"] > seconds["normal"] > seconds["fast"]
    assert seconds["slow"] / seconds["fast"] == pytest.approx(1.25 / 0.8, rel=0.15)


def test_an_unknown_voice_is_named_with_the_nearest():
    assert isinstance(speech.load_voice("af_heart"), speech.KokoroVoice)
    with pytest.raises(ParamsError, match="no voice 'af_hart'; did you mean 'af_heart'"):
        speech.load_voice("af_hart")


def test_voices_of_both_genders_and_accents_are_known_without_their_weights():
    voices = speech.kokoro_voices()
    assert {voice[:2] for voice in voices} == {"af", "am", "bf", "bm"}
    genders = {"f": "female", "m": "male"}
    assert all(speech.gender_of(voice) == genders[voice[1]] for voice in voices)
