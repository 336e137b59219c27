"""Babble and muffled shouts are of speech, and nobody can understand a word of them."""

import re

import numpy as np
import pytest

from aor_lib.audio.hearing.transcription import transcribe
from aor_lib.audio.scenes.sounds import SOUNDS
from aor_lib.audio.scenes.sounds.voices import sentences
from aor_lib.audio.scenes.synth import Synth
from aor_lib.audio.speech import SAMPLE_RATE as RATE
from tests.audio.sounds import encoded

SHORTEST = 5
"""Letters; of a voice that says nothing Whisper writes short words, such as "that" and "you"."""


def words(samples: np.ndarray) -> set[str]:
    audio = encoded(0.5 * samples / np.abs(samples).max(), RATE)
    heard = re.findall(r"[a-z']+", transcribe(audio).transcript.lower())
    return {word for word in heard if len(word) >= SHORTEST}


@pytest.fixture(scope="module")
def said() -> set[str]:
    found = set().union(*(words(sentence) for sentence in sentences(RATE)))
    assert {"sister", "kitchen", "museum", "bakery"} <= found
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sound", "values"),
    [
        ("murmur", {"seconds": 10.0, "talkers": 1}),
        ("murmur", {"seconds": 10.0, "talkers": 6}),
        ("murmur", {"seconds": 10.0, "talkers": 20}),
        ("murmur", {"seconds": 10.0, "talkers": 20, "raised": 1.6}),
        ("cheering", {"seconds": 10.0}),
        ("shouting", {"seconds": 2.5, "raised": 1.0}),
        ("shouting", {"seconds": 1.5, "muffle_hz": 800.0}),
    ],
)
def test_no_word_of_the_recordings_is_understood_in_babble_and_shouts(said, sound, values):
    for seed in range(3):
        made = SOUNDS[sound].make(Synth(RATE, np.random.default_rng(seed)), **values)
        assert not words(made) & said
