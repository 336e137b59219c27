"""A clip is made anew exactly when something that it is made from has changed.

``python -m tests.stimuli.test_identity`` writes the fingerprints anew. They are coarse, so that
processors that differ in the last bit of a float agree.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from aor_lib.audio import mixing, speech
from aor_lib.audio.scenes import spectrum_matched_noise
from aor_lib.audio.speech.prosody import express
from aor_lib.config.params import load_study
from aor_lib.stimuli.design import stimuli
from aor_lib.stimuli.identity import VERSION, made_from

GOLDEN = Path(__file__).parents[1] / "data" / "golden_rendering.json"
WRITE = "python -m tests.stimuli.test_identity"
TOLERANCE_DB = 0.25
SENTENCE = "Which knife should I use to chop the onions?"


@pytest.fixture
def study(write_profile):
    return load_study(write_profile())


def test_a_clip_is_made_from_its_specification_and_the_mixing(study):
    spec, other = [spec for spec in stimuli(study) if spec.condition.has_audio][:2]
    settings = study.profile.mixing
    louder = settings.model_copy(update={"loudness_lufs": -20.0})
    first = made_from(spec, settings, None)
    assert made_from(spec, settings, None) == first
    assert made_from(other, settings, None) != first
    assert made_from(spec, louder, None) != first
    assert made_from(spec.model_copy(update={"seed": 1}), settings, None) != first


def test_a_clip_is_made_from_the_version_and_a_text_is_not(study, monkeypatch):
    clip, *_, text = sorted(stimuli(study), key=lambda spec: not spec.condition.has_audio)
    before = [made_from(spec, study.profile.mixing, None) for spec in (clip, text)]
    monkeypatch.setattr("aor_lib.stimuli.identity.VERSION", VERSION + 1)
    after = [made_from(spec, study.profile.mixing, None) for spec in (clip, text)]
    assert (before[0] != after[0], before[1] == after[1]) == (True, True)


def test_a_clip_is_made_from_what_sounds_in_its_scene_and_not_from_what_is_said_of_it(study):
    spec = next(spec for spec in stimuli(study) if spec.condition.has_background)

    def made_after(**changes):
        scene = spec.scene.model_copy(update=changes)
        changed = spec.model_copy(update={"scene": scene})
        return made_from(changed, study.profile.mixing, None)

    assert made_after() == made_after(description="something else", calls=())
    assert made_after() != made_after(room=None)
    assert made_after() != made_after(events=spec.scene.events[1:])


def test_a_stimulus_is_made_from_the_words_and_not_from_what_is_said_of_them(study):
    spec = stimuli(study)[0]

    def made_after(**changes):
        utterance = spec.utterance.model_copy(update=changes)
        changed = spec.model_copy(update={"utterance": utterance})
        return made_from(changed, study.profile.mixing, None)

    assert made_after() == made_after(about="other: words", threatening_scenes=("prowler",))
    assert made_after() != made_after(text="Something else?")


@pytest.mark.slow
@pytest.mark.parametrize("emotion", ["neutral", "angry"])
def test_speech_noise_and_mixing_sound_as_they_did_in_this_version(emotion):
    golden = json.loads(GOLDEN.read_text())
    assert golden["version"] == VERSION, f"write the fingerprints of this version: {WRITE}"
    before, now = golden["levels_db"][emotion], fingerprint(emotion)
    assert len(now) == len(before), f"another length: raise identity.VERSION, then {WRITE}"
    moved_db = float(np.abs(np.subtract(now, before)).mean())
    assert moved_db <= TOLERANCE_DB, (
        f"clips moved by {moved_db:.2f} dB: raise identity.VERSION, or clips of an earlier build "
        f"would be kept; then {WRITE}"
    )


def fingerprint(emotion: str) -> list[float]:
    """Levels in dB of frames of 20 ms of a sentence over noise."""
    spoken = express(speech.KokoroVoice("am_michael").synthesise(SENTENCE, "normal"), emotion)
    length = mixing.clip_length(len(spoken), speech.SAMPLE_RATE, 0.5, 0.25)
    rng = np.random.default_rng(0)
    wind = np.cumsum(rng.standard_normal(length)).astype(np.float32)
    mixed = mixing.mix(
        spoken,
        spectrum_matched_noise(wind, length, rng),
        sample_rate=speech.SAMPLE_RATE,
        snr_db=6.0,
        lead_in_s=0.5,
        tail_s=0.25,
        loudness_lufs=-23.0,
        true_peak_dbfs=-1.0,
    )
    width = speech.SAMPLE_RATE // 50
    frames = mixed.samples[: length // width * width].reshape(-1, width)
    return [round(mixing.rms_dbfs(frame), 2) for frame in frames]


if __name__ == "__main__":
    levels_db = {emotion: fingerprint(emotion) for emotion in ("neutral", "angry")}
    GOLDEN.write_text(json.dumps({"version": VERSION, "levels_db": levels_db}) + "\n")
