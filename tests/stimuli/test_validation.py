import hashlib
import shutil

import pandas as pd
import pytest
import soundfile

from aor_lib.stimuli.manifest import MANIFEST, load_manifest
from aor_lib.stimuli.validation import validate_dataset
from tests.audio.sounds import quiet

pytestmark = pytest.mark.slow


@pytest.fixture
def build(tiny_study, tmp_path):
    return shutil.copytree(tiny_study[1], tmp_path / "build")


@pytest.fixture
def validate(tiny_study, build):
    return lambda report=quiet: validate_dataset(tiny_study[0], build, 1, report)


def test_a_built_study_is_what_it_claims_to_be_and_an_altered_clip_is_named(build, validate):
    assert validate() == []
    clip = sorted((build / "clips").glob("*.benign_scene.*"))[0]
    clip.write_bytes(clip.read_bytes()[:-1])
    [violation] = validate()
    assert violation.startswith(clip.stem)
    assert "sha256" in violation


def test_wrong_claims_are_found_and_only_changes_are_measured_again(build, validate, monkeypatch):
    manifest = load_manifest(build)
    first, second, third = manifest.index[manifest["condition"] == "benign_scene"][:3]
    manifest.loc[first, ["loudness_lufs", "snr_db", "duration_s"]] += [1, 2, 0.5]
    for row, sign in ((second, 1), (third, -1)):  # upside down it is not the speech
        path = build / manifest.loc[row, "path"]
        samples, rate = soundfile.read(path)
        samples[: int(manifest.loc[row, "lead_in_s"] * rate)] = 0
        soundfile.write(path, sign * samples, rate, subtype="PCM_16")
        manifest.loc[row, "sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.to_parquet(build / MANIFEST)
    violations = validate()
    found = "\n".join(violations)
    for name in ("loudness_lufs", "snr_db", "duration_s"):
        assert f"{manifest.loc[first, 'stimulus_id']}: {name}: measured" in found
    assert f"{manifest.loc[second, 'stimulus_id']}: lead-in: the scene is not audible" in found
    assert f"{manifest.loc[third, 'stimulus_id']}: snr_db: measured -inf" in found
    assert validate(report=None) == violations
    monkeypatch.setattr("aor_lib.stimuli.validation.stimuli", lambda study: [])
    done = []
    validate(report=lambda number, of: done.append(number))
    assert len(done) == len(manifest), "against another profile"


def test_missing_unplanned_and_repeated_stimuli_are_found(build, validate):
    manifest = load_manifest(build)
    first = manifest.iloc[[0]].assign(stimulus_id="another")
    pd.concat([manifest.iloc[:-1], first]).to_parquet(build / MANIFEST)
    violations = "\n".join(validate())
    missing = manifest.iloc[-1]["stimulus_id"]
    assert "1 stimuli are not part of the profile, such as another" in violations
    assert "another: has the same content" in violations
    assert f"1 stimuli of the profile are not in the manifest, such as {missing}" in violations
