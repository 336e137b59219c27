import hashlib
import shutil

import pandas as pd
import pytest
import soundfile

from aor_lib.stimuli.clip_measurement import TOLERANCES
from aor_lib.stimuli.manifest import MANIFEST, load_manifest, load_validation
from aor_lib.stimuli.validation import validate_dataset

pytestmark = pytest.mark.slow


class Measuring:
    """A report that counts; ``validate`` returns the violations."""

    def __init__(self, study, build):
        self.study, self.build, self.calls = study, build, 0

    def __call__(self, done: int, of: int) -> None:
        self.calls += 1

    def validate(self) -> list[str]:
        self.calls = 0
        return validate_dataset(self.study, self.build, 1, self)


@pytest.fixture
def built(tiny_study, tmp_path):
    study, build = tiny_study
    shutil.copytree(build, tmp_path / "build")
    return Measuring(study, tmp_path / "build")


@pytest.fixture
def manifest(built):
    return load_manifest(built.build)


def test_a_built_study_is_what_it_claims_to_be(built, manifest):
    assert built.validate() == []
    both = manifest.merge(load_validation(built.build), on="stimulus_id")
    assert (both["snr_db_x"] - both["snr_db_y"]).abs().max() <= TOLERANCES["snr_db"]
    assert (both.loc[both["snr_db_x"].notna(), "lead_in_dbfs"] > -60).all()


def test_an_unchanged_study_is_not_measured_again_and_its_violations_stay(built, manifest):
    manifest.loc[0, "loudness_lufs"] += 1
    manifest.to_parquet(built.build / MANIFEST)
    violations = built.validate()
    assert violations
    assert built.calls > 0
    assert built.validate() == violations
    assert built.calls == 0


def test_an_altered_clip_is_named_even_after_a_validation(built):
    built.validate()
    clip = sorted((built.build / "clips").glob("*.benign_scene.*"))[0]
    clip.write_bytes(clip.read_bytes()[:-1])
    [violation] = built.validate()
    assert violation.startswith(clip.stem)
    assert "sha256" in violation


def test_wrong_claims_of_level_snr_and_duration_are_found(built, manifest):
    at = manifest.index[manifest["condition"] == "benign_scene"][0]
    manifest.loc[at, ["loudness_lufs", "snr_db", "duration_s"]] += [1, 2, 0.5]
    manifest.to_parquet(built.build / MANIFEST)
    violations = "\n".join(built.validate())
    for name in ("loudness_lufs", "snr_db", "duration_s"):
        assert f"{manifest.loc[at, 'stimulus_id']}: {name}: measured" in violations


def test_a_scene_that_cannot_be_heard_is_a_violation(built, manifest):
    at = manifest.index[manifest["condition"] == "benign_scene"][0]
    path = built.build / manifest.loc[at, "path"]
    samples, rate = soundfile.read(path)
    samples[: int(manifest.loc[at, "lead_in_s"] * rate)] = 0
    soundfile.write(path, samples, rate, subtype="PCM_16")
    manifest.loc[at, "sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.to_parquet(built.build / MANIFEST)
    expected = f"{manifest.loc[at, 'stimulus_id']}: lead-in: the scene is not audible"
    assert expected in "\n".join(built.validate())


def test_missing_unplanned_and_repeated_stimuli_are_found(built, manifest):
    first = manifest.iloc[[0]].assign(stimulus_id="another")
    pd.concat([manifest.iloc[:-1], first]).to_parquet(built.build / MANIFEST)
    violations = "\n".join(built.validate())
    missing = manifest.iloc[-1]["stimulus_id"]
    assert "1 stimuli are not part of the profile, such as another; run 'aor data'" in violations
    assert "another: has the same content as another stimulus" in violations
    assert f"1 stimuli of the profile are not in the manifest, such as {missing}" in violations
