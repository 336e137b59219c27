"""Clips of an export in place of synthesis: the same bytes for everyone, or an error."""

import shutil
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from aor_lib.config.params import load_study
from aor_lib.stimuli import dataset
from aor_lib.stimuli.dataset import build_dataset
from aor_lib.stimuli.export import export_hf
from aor_lib.stimuli.exported_clips import find_export
from aor_lib.stimuli.manifest import MANIFEST, DatasetError, load_stimuli, verify_dataset
from aor_lib.stimuli.validation import validate_dataset
from tests.audio.sounds import quiet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tiny_study, tmp_path_factory):
    """An export of the tiny study."""
    study, build = tiny_study
    validate_dataset(study, build, 1, quiet)
    return export_hf(build, tmp_path_factory.mktemp("export") / "tiny", study)


@pytest.fixture
def export(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "export")


@pytest.fixture
def take(export, tiny_study, tmp_path):
    """Build a study, the tiny one unless another is given, of the clips of the export."""

    def take(study=tiny_study[0], **options):
        build_dataset(study, tmp_path / "build", 1, quiet, source=str(export), **options)
        return tmp_path / "build"

    return take


def test_a_build_from_an_export_has_its_bytes_and_synthesises_nothing(
    take, tiny_study, monkeypatch
):
    monkeypatch.setattr(dataset, "_render_group", None)
    study, build = tiny_study
    taken = take()
    assert (taken / MANIFEST).read_bytes() == (build / MANIFEST).read_bytes()
    verify_dataset(load_stimuli(build), taken)
    build_dataset(study, taken, 1, quiet)  # what was taken is not made again


def test_what_an_export_lacks_is_made_only_where_that_is_asked_for(take, write_profile):
    more = load_study(write_profile(snr_sweep={"snr_db": [0], "utterances_per_scenario": 1}))
    with pytest.raises(DatasetError, match=r"does not hold \d+ of .*snr0.*--make-missing"):
        take(more)
    assert any(s.block == "snr_sweep" for s in load_stimuli(take(more, make_missing=True)))


def test_an_altered_or_missing_clip_is_refused_by_name(take, export):
    clip = sorted(export.glob("*/clips/*.flac"))[0]
    clip.write_bytes(clip.read_bytes()[:-1] + b"?")
    with pytest.raises(DatasetError, match=rf"{clip.name}: sha256 is not the manifest's"):
        take()
    clip.unlink()
    with pytest.raises(DatasetError, match=rf"{clip.name}: is missing"):
        take()


@pytest.mark.parametrize("outside", ["../../elsewhere.flac", "/tmp/elsewhere.flac"])
def test_an_export_whose_paths_lead_out_of_its_folder_is_refused(take, export, outside):
    path = sorted(export.glob("*/metadata.parquet"))[0]
    table = pq.read_table(path)
    rows = table.to_pandas().assign(path=outside)
    pq.write_table(table.from_pandas(rows, schema=table.schema), path)
    with pytest.raises(DatasetError, match=r"path: '.*elsewhere.flac' is not within"):
        take()


def test_an_export_of_another_design_is_refused_with_the_field_that_differs(take, write_profile):
    other = load_study(write_profile(mixing={"lead_in_s": 1.5}))
    with pytest.raises(DatasetError, match=r"lead_in_s: 2\.0, but the profile asks for 1\.5"):
        take(other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.replace_schema_metadata(None), "is of version none of the data set"),
        (lambda table: table.drop_columns("seed"), r"is not of version \d .*seed: Field required"),
    ],
)
def test_an_export_of_another_version_is_refused(take, export, change, message):
    for path in export.glob("*/metadata.parquet"):
        pq.write_table(change(pq.read_table(path)), path)
    with pytest.raises(DatasetError, match=f"{message}.* take an export of that version"):
        take()


def test_a_source_that_is_neither_a_folder_nor_a_data_set_says_what_it_can_be():
    with pytest.raises(DatasetError, match="a data set on the hub as OWNER/NAME@REVISION"):
        find_export("no/such/folder")


def test_a_data_set_on_the_hub_is_fetched_at_its_revision(monkeypatch, tmp_path):
    fetch = Mock(return_value=str(tmp_path))
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    assert find_export("somebody/aor@v2") == tmp_path
    fetch.assert_called_once_with("somebody/aor", repo_type="dataset", revision="v2")
