import json
import shutil

import pandas as pd
import pytest
import soundfile

from aor_lib.stimuli.manifest import MANIFEST, load_manifest, load_validation
from aor_lib.stimuli.validation import SNR_TOLERANCE_DB, validate_dataset

pytestmark = pytest.mark.slow


def quiet(done: int, of: int) -> None:
    pass


@pytest.fixture
def copy(tiny_study, tmp_path):
    study, build = tiny_study
    shutil.copytree(build, tmp_path / "build")
    return study, tmp_path / "build"


def test_a_built_study_is_what_it_claims_to_be(tiny_study):
    study, build = tiny_study
    assert validate_dataset(study, build, 1, quiet) == []
    both = load_manifest(build).merge(load_validation(build), on="stimulus_id")
    off_db = (both["snr_db_x"] - both["snr_db_y"]).abs()
    assert off_db.max() <= SNR_TOLERANCE_DB
    assert (both.loc[both["snr_db_x"].notna(), "lead_in_dbfs"] > -60).all()


def test_an_altered_clip_is_named(copy):
    study, build = copy
    clip = sorted((build / "clips").glob("*.matched.*"))[0]
    clip.write_bytes(clip.read_bytes()[:-1])
    violations = validate_dataset(study, build, 1, quiet)
    assert len(violations) == 1
    assert violations[0].startswith(clip.stem)
    assert "sha256" in violations[0]


def test_wrong_claims_of_level_snr_and_duration_are_found(copy):
    study, build = copy
    manifest = load_manifest(build)
    at = manifest.index[manifest["condition"] == "matched"][0]
    manifest.loc[at, "loudness_lufs"] += 1
    manifest.loc[at, "snr_db"] += 2
    manifest.loc[at, "duration_s"] += 0.5
    manifest.to_parquet(build / MANIFEST)
    found = "\n".join(validate_dataset(study, build, 1, quiet))
    for name in ("loudness_lufs", "snr_db", "duration_s"):
        assert f"{manifest.loc[at, 'stimulus_id']}: {name}: measured" in found


def test_a_scene_that_cannot_be_heard_is_a_violation(copy):
    study, build = copy
    manifest = load_manifest(build)
    row = manifest[manifest["condition"] == "matched"].iloc[0]
    samples, rate = soundfile.read(build / row["path"])
    samples[: int(row["lead_in_s"] * rate)] = 0
    soundfile.write(build / row["path"], samples, rate, subtype="PCM_16")
    manifest["sha256"] = [hash_of(build, one) for one in manifest.to_dict("records")]
    manifest.to_parquet(build / MANIFEST)
    found = "\n".join(validate_dataset(study, build, 1, quiet))
    assert f"{row['stimulus_id']}: lead-in: the scene is not audible" in found


def test_missing_unplanned_and_repeated_stimuli_are_found(copy):
    study, build = copy
    manifest = load_manifest(build)
    first = manifest.iloc[[0]].assign(stimulus_id="another")
    pd.concat([manifest.iloc[:-1], first]).to_parquet(build / MANIFEST)
    found = "\n".join(validate_dataset(study, build, 1, quiet))
    assert "1 stimuli are not part of the profile, such as another; run 'aor data'" in found
    assert "another: has the same content as another stimulus" in found
    missing = manifest.iloc[-1]["stimulus_id"]
    assert f"1 stimuli of the profile are not in the manifest, such as {missing}" in found


def hash_of(build, row):
    import hashlib

    if not isinstance(row["path"], str):
        return row["sha256"]
    assert json.loads(row["history"]) == []
    return hashlib.sha256((build / row["path"]).read_bytes()).hexdigest()
