import hashlib

import numpy as np
import pandas as pd
import pytest
import soundfile

from aor_lib.audio.hearing.transcription import BANDS, ENCODED, Transcription
from aor_lib.audio.sound_files import CollectionError
from aor_lib.config.records import Condition, Intent, split_of
from aor_lib.stimuli import imported_clips as clips
from aor_lib.stimuli.imported_clips import import_clips
from aor_lib.stimuli.manifest import load_manifest, load_stimuli, verify_dataset
from tests.audio.sounds import encoded, hiss, put, quiet


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one clip; whatever is in it is transcribed alike."""
    heard = Transcription(
        "Where is it?", np.zeros(ENCODED, np.float32), np.zeros((100, BANDS), np.float16)
    )
    monkeypatch.setattr(clips, "transcribe", lambda audio: heard)
    put(tmp_path / "in" / "Clip one (1).wav", encoded(hiss(1)))
    return tmp_path / "in"


@pytest.fixture
def build(tmp_path):
    return tmp_path / "build"


def test_a_folder_of_clips_becomes_a_study_whose_sound_and_loudness_are_as_they_were(folder, build):
    assert import_clips(folder, build, quiet).imported == ("Clip one (1).wav",)
    (row,) = load_stimuli(build)
    digest = hashlib.sha256((folder / "Clip one (1).wav").read_bytes()).hexdigest()
    assert row.stimulus_id == row.utterance_id == f"clip-one-1-{digest[:8]}"
    assert (row.scenario, row.block) == ("imported", "imported")
    assert (row.intent, row.condition) == (Intent.UNLABELLED, Condition.AS_FOUND)
    assert row.text == "Where is it?"
    assert row.split is split_of(row.stimulus_id)
    assert row.duration_s == pytest.approx(1.0)
    assert -32 < row.loudness_lufs < -18
    verify_dataset([row], build)
    samples = soundfile.read(build / row.path)[0]
    assert np.array_equal(samples, soundfile.read(folder / "Clip one (1).wav")[0])


def test_what_is_no_clip_is_reported_and_names_that_sanitise_to_the_same_stay_apart(folder, build):
    samples = soundfile.read(folder / "Clip one (1).wav")[0]
    put(folder / "again.flac", encoded(samples, kind="FLAC"))
    put(folder / "notes.txt", b"about")
    put(folder / "clip-one-1.wav", encoded(hiss(2)))
    put(folder / "\u5929.wav", encoded(hiss(3)))
    skipped = dict(import_clips(folder, build, quiet).skipped)
    assert skipped["again.flac"] == "is the same sound as Clip one (1).wav"
    assert skipped.keys() == {"again.flac", "notes.txt"}
    names = sorted(row.stimulus_id.rpartition("-")[0] for row in load_stimuli(build))
    assert names == ["clip", "clip-one-1", "clip-one-1"]


def test_another_studys_folder_is_refused(folder, build):
    import_clips(folder, build, quiet)
    manifest = load_manifest(build).assign(block="core")
    manifest.to_parquet(build / "manifest.parquet")
    with pytest.raises(CollectionError, match="holds another study"):
        import_clips(folder, build, quiet)
    assert pd.read_parquet(build / "manifest.parquet").equals(manifest)
