"""A study as a zip file: what is in it comes out, and nothing else is taken."""

import shutil
import zipfile

import pytest

from aor_lib.analysis.results import load_results
from aor_lib.inference.bundles import BundleError
from aor_lib.report.archive import unpack_archive, write_archive
from aor_lib.stimuli.manifest import VALIDATION, DatasetError, load_stimuli
from tests.inference.conftest import machine, model  # noqa: F401


@pytest.fixture
def here(machine, model):  # noqa: F811
    """A study of texts, answered and judged."""
    here = machine("here").ask(model("own"))
    (here.build / VALIDATION).write_bytes((here.build / "manifest.parquet").read_bytes())
    return here


def test_a_study_comes_out_of_its_zip_file_with_its_results(here, tmp_path):
    write_archive(here.study, here.build, tmp_path / "study.zip")
    there = tmp_path / "there" / "tiny"
    assert unpack_archive(tmp_path / "study.zip", here.study, there) == 6
    columns = ["stimulus_id", "model", "response", "label"]
    assert load_results(there)[columns].equals(load_results(here.build)[columns])


def test_a_zip_file_of_another_profile_names_what_to_do(here, tmp_path):
    write_archive(here.study, here.build, tmp_path / "study.zip")
    profile = here.study.profile.model_copy(update={"name": "other"})
    other = here.study.model_copy(update={"profile": profile})
    with pytest.raises(BundleError, match="PROFILE=tiny"):
        unpack_archive(tmp_path / "study.zip", other, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_zip_file_takes_the_place_of_an_earlier_one_and_of_no_study(here, tmp_path):
    write_archive(here.study, here.build, tmp_path / "study.zip")
    for _ in range(2):
        assert unpack_archive(tmp_path / "study.zip", here.study, tmp_path / "there") == 6
    with pytest.raises(BundleError, match="holds a study of its own"):
        unpack_archive(tmp_path / "study.zip", here.study, here.build)
    assert len(load_results(here.build)) == 6


@pytest.mark.parametrize(
    ("name", "problem"),
    [("../evil.txt", "holds '../evil.txt'"), ("clips/../../x.flac", "holds"), ("run.py", "holds")],
)
def test_a_zip_file_with_anything_else_in_it_is_refused(here, tmp_path, name, problem):
    write_archive(here.study, here.build, tmp_path / "study.zip")
    with zipfile.ZipFile(tmp_path / "study.zip", "a") as archive:
        archive.writestr(name, "x")
    with pytest.raises(BundleError, match=problem):
        unpack_archive(tmp_path / "study.zip", here.study, tmp_path / "there")


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


@pytest.mark.slow
def test_a_clip_that_is_not_the_manifests_is_refused(tiny_study, model, machine, tmp_path):  # noqa: F811
    _, tiny = tiny_study
    here = machine("clips", load_stimuli(tiny)).ask(model("own"))
    shutil.copytree(tiny / "clips", here.build / "clips")
    (here.build / VALIDATION).write_bytes((here.build / "manifest.parquet").read_bytes())
    altered = min((here.build / "clips").iterdir())
    altered.write_bytes(altered.read_bytes()[:-1])
    write_archive(here.study, here.build, tmp_path / "study.zip")
    with pytest.raises(DatasetError, match=altered.name):
        unpack_archive(tmp_path / "study.zip", here.study, tmp_path / "there")
