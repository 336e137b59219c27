"""Speech recognition; ``python -m tests.audio.test_transcription`` writes the fingerprint anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from aor_lib.audio import speech
from aor_lib.audio.hearing import transcription
from aor_lib.audio.hearing.transcription import BANDS, ENCODED, VERSION, listen, transcribe
from tests.audio.sounds import encoded

GOLDEN = Path(__file__).parents[1] / "data" / "golden_transcription.json"
WRITE = "python -m tests.audio.test_transcription"
TOLERANCE = 0.05
SENTENCE = "How long does the soup have to simmer?"


def spoken() -> np.ndarray:
    return speech.synthesise(SENTENCE, "af_heart")


def fingerprint() -> dict[str, object]:
    """Transcript and some of what is encoded, without the cache."""
    encoded_speech = listen(spoken(), speech.SAMPLE_RATE)[0]
    return {
        "transcript": str(transcription._found(encoded(spoken()))["transcript"]),
        "encoded": [round(float(feature), 2) for feature in encoded_speech[::16]],
    }


@pytest.mark.slow
def test_a_clip_is_transcribed_as_in_this_version():
    golden, now = json.loads(GOLDEN.read_text()), fingerprint()
    assert golden["version"] == VERSION, f"write the fingerprint of this version: {WRITE}"
    moved = float(np.abs(np.subtract(now["encoded"], golden["encoded"])).mean())
    assert now["transcript"] == golden["transcript"], f"raise transcription.VERSION, then {WRITE}"
    assert moved <= TOLERANCE, f"what is encoded moved: raise transcription.VERSION, then {WRITE}"


@pytest.mark.slow
def test_what_is_heard_is_the_same_bytes_whatever_the_number_of_threads():
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append([one.tobytes() for one in listen(spoken(), speech.SAMPLE_RATE)])
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "frames"), [(0.1, 5), (30, 1500)])
def test_a_clip_up_to_half_a_minute_is_heard(seconds, frames):
    noise = np.random.default_rng(0).normal(0, 0.01, int(seconds * 16_000))
    found = transcribe(encoded(noise, 16_000))
    assert (found.encoded.shape, found.encoded.dtype) == ((ENCODED,), np.float32)
    assert (found.spectrogram.shape, found.spectrogram.dtype) == ((frames, BANDS), np.float16)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({"version": VERSION, **fingerprint()}) + "\n")
