"""Speech recognition; ``python -m tests.audio.test_transcription`` writes the fingerprint anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from aor_lib.audio import speech
from aor_lib.audio.hearing import transcription
from aor_lib.audio.hearing.transcription import VERSION, encoder_features, transcribe
from tests.audio.sounds import encoded

GOLDEN = Path(__file__).parents[1] / "data" / "golden_transcription.json"
WRITE = "python -m tests.audio.test_transcription"
TOLERANCE = 0.05
SENTENCE = "How long does the soup have to simmer?"


def spoken() -> np.ndarray:
    return speech.KokoroVoice("af_heart").synthesise(SENTENCE, "normal")


def fingerprint() -> dict[str, object]:
    """Transcript and some of the features, without the cache."""
    features = encoder_features(spoken(), speech.SAMPLE_RATE)[-1, : transcription.ENCODED]
    return {
        "transcript": str(transcription._listen(encoded(spoken()))["transcript"]),
        "features": [round(float(feature), 2) for feature in features[::16]],
    }


@pytest.mark.slow
def test_a_clip_is_transcribed_as_in_this_version():
    golden, now = json.loads(GOLDEN.read_text()), fingerprint()
    assert golden["version"] == VERSION, f"write the fingerprint of this version: {WRITE}"
    moved = float(np.abs(np.subtract(now["features"], golden["features"])).mean())
    assert now["transcript"] == golden["transcript"], f"raise transcription.VERSION, then {WRITE}"
    assert moved <= TOLERANCE, f"features moved: raise transcription.VERSION, then {WRITE}"


@pytest.mark.slow
def test_features_are_the_same_bytes_whatever_the_number_of_threads():
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(encoder_features(spoken(), speech.SAMPLE_RATE).tobytes())
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.1, 30])
def test_a_clip_up_to_half_a_minute_has_features(seconds):
    noise = np.random.default_rng(0).normal(0, 0.01, int(seconds * 16_000))
    features = transcribe(encoded(noise, 16_000)).features
    assert (features.shape, features.dtype) == ((transcription.SEGMENTS + 1, 1088), np.float32)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({"version": VERSION, **fingerprint()}) + "\n")
