import hashlib

import numpy as np
import pytest
import soundfile

from aor_lib.audio.hearing.transcription import BANDS, ENCODED, Transcription
from aor_lib.audio.sound_files import CollectionError
from aor_lib.config.params import load_study
from aor_lib.config.records import Condition, Intent, split_of
from aor_lib.stimuli import imported_clips as clips
from aor_lib.stimuli.dataset import build_dataset
from aor_lib.stimuli.imported_clips import import_clips
from aor_lib.stimuli.manifest import DatasetError, load_manifest, load_stimuli, verify_dataset
from tests.audio.sounds import content_of, encoded, hiss, put, quiet


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
    (build / row.path).unlink()
    with pytest.raises(DatasetError, match="import the folder"):
        verify_dataset([row], build)


def test_a_clip_above_full_scale_is_scaled_down_as_a_whole(folder, build):
    loud = hiss(1, level=0.5)
    put(folder / "Clip one (1).wav", encoded(loud, subtype="FLOAT"))
    import_clips(folder, build, quiet)
    samples = soundfile.read(build / load_stimuli(build)[0].path)[0]
    assert np.allclose(samples, loud / np.abs(loud).max(), atol=1e-6)


def test_what_is_no_clip_is_reported_and_names_that_sanitise_to_the_same_stay_apart(folder, build):
    put(folder / "again.flac", encoded(soundfile.read(folder / "Clip one (1).wav")[0], kind="FLAC"))
    put(folder / "notes.txt", b"about")
    put(folder / "clip-one-1.wav", encoded(hiss(2)))
    put(folder / "\u5929.wav", encoded(hiss(3)))
    skipped = dict(import_clips(folder, build, quiet).skipped)
    assert skipped["again.flac"].startswith("is the same sound as clip-one-1-")
    assert skipped.keys() == {"again.flac", "notes.txt"}
    names = sorted(row.stimulus_id.rpartition("-")[0] for row in load_stimuli(build))
    assert names == ["clip", "clip-one-1", "clip-one-1"]


def test_clips_of_another_folder_are_added_unless_they_are_there(folder, build):
    import_clips(folder, build, quiet)
    again = put(folder.parent / "other" / "again.wav", encoded(hiss(1)))
    put(again.with_name("new.wav"), encoded(hiss(2)))
    assert import_clips(again.parent, build, quiet).imported == ("new.wav",)
    assert [row.stimulus_id[:4] for row in load_stimuli(build)] == ["clip", "new-"]


def test_another_studys_folder_is_refused_and_so_is_a_study_in_a_folder_of_clips(
    folder, build, write_profile
):
    import_clips(folder, build, quiet)
    before = content_of(build)
    with pytest.raises(DatasetError, match="holds imported clips"):
        build_dataset(load_study(write_profile()), build, 1, quiet)
    assert content_of(build) == before
    load_manifest(build).assign(block="core").to_parquet(build / "manifest.parquet")
    before = content_of(build)
    with pytest.raises(CollectionError, match="holds another study"):
        import_clips(folder, build, quiet)
    assert content_of(build) == before
