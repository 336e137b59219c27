"""A clip is made anew exactly when something that it is made from has changed.

Fingerprints are coarse, so that processors agree. Quantised speech synthesis differs most between
them, so what is made of speech is fingerprinted with a sound of known samples.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aor_lib.audio import mixing, speech
from aor_lib.audio.scenes.engine import spectrum_matched_noise
from aor_lib.audio.speech.prosody import express
from aor_lib.config.params import load_study
from aor_lib.config.profile import Mixing
from aor_lib.stimuli.dataset import VERSION, made_from
from aor_lib.stimuli.design import stimuli
from tests.audio.sounds import vowels

GOLDEN = Path(__file__).parents[1] / "data" / "golden_rendering.json"
WRITE = "python -m tests.stimuli.test_identity"
TOLERANCE_DB = 0.25
SENTENCE = "Which knife should I use to chop the onions?"


def test_a_clip_is_made_from_all_that_is_heard_and_nothing_said_of_it(write_profile, monkeypatch):
    specs = stimuli(load_study(write_profile()))
    spec = next(spec for spec in specs if spec.condition.has_background)

    def made_after(part=None, **changes):
        if part:
            changes = {part: getattr(spec, part).model_copy(update=changes)}
        return made_from(spec.model_copy(update=changes), Mixing(), None)

    before = made_after()
    assert made_after("scene", description="something else") == before
    assert made_after("utterance", about="other: act", harm_category=None) == before
    changed = {
        made_from(spec, Mixing(loudness_lufs=-20.0), None),
        made_after(seed=1),
        made_after("scene", room=None),
        made_after("scene", events=spec.scene.events[1:]),
        made_after("utterance", text="Something else?"),
    }
    monkeypatch.setattr("aor_lib.stimuli.dataset.VERSION", VERSION + 1)
    assert len({before, made_after(), *changed}) == 7


@pytest.fixture(scope="module")
def golden():
    stored = json.loads(GOLDEN.read_text())
    assert stored["version"] == VERSION, f"write the fingerprints of this version: {WRITE}"
    return stored


@pytest.mark.parametrize("emotion", ["neutral", "angry"])
def test_prosody_noise_and_mixing_sound_as_they_did_in_this_version(golden, emotion):
    before, now = golden["levels_db"][emotion], levels_db(mixed(emotion))
    assert len(now) == len(before), f"another length: raise dataset.VERSION, then {WRITE}"
    assert_alike(now, before, TOLERANCE_DB)


@pytest.mark.slow
def test_speech_sounds_as_it_did_in_this_version(golden):
    now = spoken()
    assert now["duration_s"] == pytest.approx(golden["speech"]["duration_s"], abs=0.1), WRITE
    assert_alike(now["quantiles_db"], golden["speech"]["quantiles_db"], 4 * TOLERANCE_DB)


def assert_alike(now, before, tolerance_db):
    moved_db = float(np.abs(np.subtract(now, before)).mean())
    assert moved_db <= tolerance_db, f"{moved_db:.2f} dB: raise dataset.VERSION, then {WRITE}"


def mixed(emotion: str) -> np.ndarray:
    expressed = express(vowels(120, seconds=1.5), emotion)
    settings = Mixing(lead_in_s=0.5, tail_s=0.25)
    length = mixing.clip_length(len(expressed), settings)
    rng = np.random.default_rng(0)
    wind = np.cumsum(rng.standard_normal(length)).astype(np.float32)
    return mixing.mix(expressed, spectrum_matched_noise(wind, length, rng), settings).samples


def levels_db(samples: np.ndarray) -> list[float]:
    width = speech.SAMPLE_RATE // 50
    frames = samples[: len(samples) // width * width].reshape(-1, width)
    return [round(mixing.rms_dbfs(frame + 1e-6), 2) for frame in frames]


def spoken() -> dict[str, Any]:
    samples = speech.synthesise(SENTENCE, "am_michael")
    quantiles = np.quantile(levels_db(samples), np.linspace(0.2, 1, 9)).round(2).tolist()
    return {"duration_s": round(len(samples) / speech.SAMPLE_RATE, 3), "quantiles_db": quantiles}


if __name__ == "__main__":
    of_emotions = {emotion: levels_db(mixed(emotion)) for emotion in ("neutral", "angry")}
    stored = {"version": VERSION, "levels_db": of_emotions, "speech": spoken()}
    GOLDEN.write_text(json.dumps(stored) + "\n")
