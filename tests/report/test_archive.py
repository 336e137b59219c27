"""A study as a zip file: what is in it comes out, and nothing else is taken."""

import hashlib
import zipfile

import pytest

from aor_lib.analysis.results import load_results
from aor_lib.inference.bundles import BundleError
from aor_lib.report.archive import unpack_archive, write_archive
from aor_lib.stimuli.manifest import VALIDATION, DatasetError
from tests.audio.sounds import put
from tests.conftest import make_text_stimuli
from tests.inference.conftest import machine, model  # noqa: F401


@pytest.fixture
def here(machine, model):  # noqa: F811
    """A study of texts and a clip, answered and judged."""
    *texts, heard = make_text_stimuli(6)
    of_clip = {"path": "clips/a.flac", "sha256": hashlib.sha256(b"a sound").hexdigest()}
    here = machine("here", [*texts, heard.model_copy(update=of_clip)]).ask(model("own"))
    put(here.build / "clips/a.flac", b"a sound")
    (here.build / VALIDATION).write_bytes((here.build / "manifest.parquet").read_bytes())
    return here


@pytest.fixture
def zipped(here, tmp_path):
    """Its zip file."""
    write_archive(here.study, here.build, tmp_path / "study.zip")
    return tmp_path / "study.zip"


def test_a_study_comes_out_of_its_zip_file_in_place_of_an_earlier_one(here, zipped, tmp_path):
    there = tmp_path / "there" / "tiny"
    for _ in range(2):
        assert unpack_archive(zipped, here.study, there) == 6
    columns = ["stimulus_id", "model", "response", "label"]
    assert load_results(there)[columns].equals(load_results(here.build)[columns])


def test_a_zip_file_takes_the_place_of_no_study(here, zipped):
    with pytest.raises(BundleError, match="holds a study of its own"):
        unpack_archive(zipped, here.study, here.build)
    assert len(load_results(here.build)) == 6


def test_a_zip_file_of_another_profile_names_what_to_do(here, zipped, tmp_path):
    profile = here.study.profile.model_copy(update={"name": "other"})
    other = here.study.model_copy(update={"profile": profile})
    with pytest.raises(BundleError, match="PROFILE=tiny"):
        unpack_archive(zipped, other, tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("name", ["clips/../../x.flac", "run.py"])
def test_a_zip_file_with_anything_else_in_it_is_refused(here, zipped, tmp_path, name):
    with zipfile.ZipFile(zipped, "a") as archive:
        archive.writestr(name, "x")
    with pytest.raises(BundleError, match=f"holds '{name}'"):
        unpack_archive(zipped, here.study, tmp_path / "there")


def test_a_zipped_bundle_without_clips_and_what_is_no_zip_file_are_named(here, tmp_path):
    path = tmp_path / "study.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in here.export().iterdir():
            archive.write(file, file.name)
    with pytest.raises(BundleError, match=r"it has no manifest\.parquet"):
        unpack_archive(path, here.study, tmp_path / "there")
    path.write_text("no zip file")
    with pytest.raises(BundleError, match="is damaged, or no zip file"):
        unpack_archive(path, here.study, tmp_path / "there")


def test_a_clip_that_is_not_the_manifests_is_refused(here, tmp_path):
    put(here.build / "clips/a.flac", b"another sound")
    write_archive(here.study, here.build, tmp_path / "study.zip")
    with pytest.raises(DatasetError, match=r"a\.flac"):
        unpack_archive(tmp_path / "study.zip", here.study, tmp_path / "there")
