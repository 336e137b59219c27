import hashlib
import json

import numpy as np
import pandas as pd
import pytest
import soundfile

from aor_lib.audio import mixing
from aor_lib.config.params import load_study
from aor_lib.stimuli.dataset import DatasetError, build_dataset, verify_dataset
from aor_lib.stimuli.manifest import load_manifest, load_stimuli

pytestmark = pytest.mark.slow


def quiet(done: int, of: int) -> None:
    pass


@pytest.fixture
def manifest(tiny_study):
    return load_manifest(tiny_study[1])


def test_every_clip_is_what_its_row_says(tiny_study, manifest):
    _, build = tiny_study
    for row in manifest[manifest["path"].notna()].itertuples():
        content = (build / row.path).read_bytes()
        assert hashlib.sha256(content).hexdigest() == row.sha256
        samples, rate = soundfile.read(build / row.path, dtype="float32")
        assert samples.ndim == 1
        assert rate == row.sample_rate == 24_000
        assert len(samples) / rate == pytest.approx(row.duration_s, abs=1e-4)
        assert mixing.true_peak(samples) <= -1.0 + 0.01
        assert mixing.true_peak(samples) == pytest.approx(row.peak_dbfs, abs=0.05)
        assert np.abs(samples).max() < 1


def test_the_scene_is_alone_in_the_lead_in_and_speech_in_silence_is_not(tiny_study, manifest):
    _, build = tiny_study
    for row in manifest[manifest["path"].notna()].itertuples():
        samples, rate = soundfile.read(build / row.path)
        lead_in = samples[: int(row.lead_in_s * rate)]
        assert lead_in.any() == (row.condition != "speech_only")


def test_text_conditions_have_no_sound_and_present_what_they_should(manifest):
    texts = manifest[manifest["path"].isna()]
    assert set(texts["condition"]) == {"text_only", "described"}
    for row in texts.itertuples():
        assert row.presented_text.endswith(row.text)
        assert row.presented_text.startswith("In the background one hears ") == (
            row.condition == "described"
        )


def test_no_two_stimuli_are_the_same(manifest):
    assert manifest["sha256"].is_unique
    assert manifest["stimulus_id"].is_unique


def test_events_lie_within_their_clip(manifest):
    matched = manifest[manifest["condition"] == "matched"]
    for row in matched.itertuples():
        events = json.loads(row.events)
        assert events
        assert all(0 <= e["onset_s"] < row.duration_s for e in events)


def test_two_builds_with_different_workers_give_the_same_bytes(write_profile, tmp_path):
    study = load_study(write_profile(conditions=["matched", "text_only"]))
    first, second = tmp_path / "one", tmp_path / "two"
    build_dataset(study, first, 1, quiet)
    build_dataset(study, second, 2, quiet)
    assert (first / "manifest.parquet").read_bytes() == (second / "manifest.parquet").read_bytes()
    names = sorted(path.name for path in (first / "clips").iterdir())
    assert names == sorted(path.name for path in (second / "clips").iterdir())
    for name in names:
        assert (first / "clips" / name).read_bytes() == (second / "clips" / name).read_bytes()


def test_a_second_build_makes_only_what_is_missing_damaged_or_new(write_profile, tmp_path):
    build = tmp_path / "build"
    study = load_study(write_profile(conditions=["matched", "speech_only"]))
    build_dataset(study, build, 1, quiet)
    kept, missing, damaged = sorted((build / "clips").iterdir())[:3]
    before, whole = kept.stat().st_mtime_ns, damaged.read_bytes()
    missing.unlink()
    damaged.write_bytes(whole[:-10])
    build_dataset(study, build, 1, quiet)
    assert kept.stat().st_mtime_ns == before
    assert missing.exists()
    assert damaged.read_bytes() == whole
    fewer = load_study(write_profile(conditions=["matched"]))
    build_dataset(fewer, build, 1, quiet)
    assert {s.condition for s in load_stimuli(build)} == {"matched"}
    assert len(list((build / "clips").iterdir())) == len(load_stimuli(build))


@pytest.mark.parametrize("damage", ["missing", "altered"])
def test_a_clip_that_is_not_the_manifests_is_named(tmp_path, damage):
    clip = tmp_path / "a.flac"
    clip.write_bytes(b"something else")
    row = {"path": "a.flac", "sha256": "0" * 64}
    if damage == "missing":
        clip.unlink()
    with pytest.raises(DatasetError, match=r"a\.flac: .*run 'aor data'"):
        verify_dataset(pd.DataFrame([row]), tmp_path)


def test_a_cluster_of_two_workers_gives_the_same_bytes(write_profile, tmp_path):
    from distributed import LocalCluster

    study = load_study(write_profile(conditions=["matched", "text_only"]))
    here, there = tmp_path / "here", tmp_path / "there"
    build_dataset(study, here, 1, quiet)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    )
    with cluster:
        build_dataset(study, there, 1, quiet, cluster.scheduler_address)
    assert content_of(there) == content_of(here)


def test_a_scheduler_that_does_not_answer_is_named(write_profile, tmp_path):
    study = load_study(write_profile(conditions=["text_only"]))
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9"):
        build_dataset(study, tmp_path / "build", 1, quiet, "tcp://127.0.0.1:9")


def test_earlier_turns_are_clips_of_their_own_and_change_the_stimulus(write_profile, tmp_path):
    counts = {"pseudo_harmful": 1, "harmful": 0, "benign": 0}
    profile = write_profile(
        conditions=["matched", "mismatched"],
        utterances_per_scenario=counts,
        multi_turn={"utterances_per_scenario": 1},
        secondary_voices={"utterances_per_scenario": 1},
    )
    build = tmp_path / "build"
    build_dataset(load_study(profile), build, 2, quiet)
    rows = {row.stimulus_id: row for row in load_stimuli(build)}
    later = [row for row in rows.values() if row.block == "multi_turn"]
    assert later
    for row in later:
        turns = json.loads(row.history)
        assert [turn["role"] for turn in turns] == ["user", "assistant"] * (len(turns) // 2)
        for turn in turns[::2]:
            content = (build / turn["path"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == turn["sha256"]
        assert row.content_sha256 != row.sha256
    called = [row for row in rows.values() if row.block == "secondary_voices"]
    assert called
    for row in called:
        assert [e for e in json.loads(row.events) if e["name"].startswith("call: ")]


def content_of(build):
    files = sorted(path for path in build.rglob("*") if path.is_file())
    return {str(path.relative_to(build)): path.read_bytes() for path in files}
