import pytest

from aor_lib.audio import speech
from aor_lib.storage import assets

TEXT = "Where is the nearest bus stop?"

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_the_same_text_gives_the_same_bytes(tmp_path, monkeypatch):
    assets.fetch("kokoro")  # remembered, while speech is looked for in empty caches
    made = []
    for name in ("one", "two"):
        monkeypatch.setenv("AOR_CACHE", str(tmp_path / name))
        made.append(speech.synthesise(TEXT, "af_heart").tobytes())
    assert made[0] == made[1]


def test_speech_is_as_long_as_its_rate_says():
    seconds = {rate: len(speech.synthesise(TEXT, "am_michael", rate)) for rate in speech.RATES}
    assert seconds["slow"] > seconds["normal"] > seconds["fast"]
    assert seconds["slow"] / seconds["fast"] == pytest.approx(1.25 / 0.8, rel=0.15)
