"""Clips of an export in place of synthesis: the same bytes for everyone, or an error."""

import shutil

import pyarrow.parquet as pq
import pytest

from aor_lib.config.params import load_study
from aor_lib.stimuli import dataset
from aor_lib.stimuli.dataset import build_dataset
from aor_lib.stimuli.export import export_hf
from aor_lib.stimuli.exported_clips import find_export
from aor_lib.stimuli.manifest import MANIFEST, DatasetError, load_stimuli
from aor_lib.stimuli.validation import validate_dataset
from tests.audio.sounds import quiet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def exported(tiny_study, tmp_path_factory):
    """An export of the tiny study, and its study."""
    study, build = tiny_study
    validate_dataset(study, build, 1, quiet)
    return study, export_hf(build, tmp_path_factory.mktemp("export") / "tiny", study)


@pytest.fixture
def copied(exported, tmp_path):
    study, export = exported
    return study, shutil.copytree(export, tmp_path / "export")


def test_a_build_from_an_export_has_its_bytes_and_synthesises_nothing(
    exported, tiny_study, tmp_path, monkeypatch
):
    study, export = exported

    def synthesises(job):
        raise AssertionError("a clip was made")

    monkeypatch.setattr(dataset, "_render_group", synthesises)
    build_dataset(study, tmp_path, 1, quiet, source=str(export))
    assert (tmp_path / MANIFEST).read_bytes() == (tiny_study[1] / MANIFEST).read_bytes()
    for stimulus in load_stimuli(tmp_path):
        if stimulus.path is not None:
            theirs = tiny_study[1] / stimulus.path
            assert (tmp_path / stimulus.path).read_bytes() == theirs.read_bytes()
    build_dataset(study, tmp_path, 1, quiet)  # what was taken is not made again


def test_what_an_export_lacks_is_made_only_where_that_is_asked_for(
    exported, write_profile, tmp_path
):
    _, export = exported
    more = load_study(write_profile(snr_sweep={"snr_db": [0], "utterances_per_scenario": 1}))
    with pytest.raises(DatasetError, match=r"does not hold \d+ of .*snr0.*--make-missing"):
        build_dataset(more, tmp_path / "build", 1, quiet, source=str(export))
    build_dataset(more, tmp_path / "build", 1, quiet, source=str(export), make_missing=True)
    assert any(s.block == "snr_sweep" for s in load_stimuli(tmp_path / "build"))


def test_an_altered_or_missing_clip_is_refused_by_name(copied, tmp_path):
    study, export = copied
    clip = sorted(export.glob("*/clips/*.flac"))[0]
    clip.write_bytes(clip.read_bytes()[:-1] + b"?")
    with pytest.raises(DatasetError, match=rf"{clip.name}: sha256 is not the manifest's"):
        build_dataset(study, tmp_path / "build", 1, quiet, source=str(export))
    clip.unlink()
    with pytest.raises(DatasetError, match=rf"{clip.name}: is missing"):
        build_dataset(study, tmp_path / "build", 1, quiet, source=str(export))


@pytest.mark.parametrize("outside", ["../../elsewhere.flac", "/tmp/elsewhere.flac"])
def test_an_export_whose_paths_lead_out_of_its_folder_is_refused(copied, tmp_path, outside):
    study, export = copied
    path = sorted(export.glob("*/metadata.parquet"))[0]
    table = pq.read_table(path)
    rows = table.to_pandas().assign(path=outside)
    pq.write_table(table.from_pandas(rows, schema=table.schema), path)
    with pytest.raises(DatasetError, match=r"path: '.*elsewhere.flac' is not within"):
        build_dataset(study, tmp_path / "build", 1, quiet, source=str(export))


def test_an_export_of_another_design_is_refused_with_the_field_that_differs(
    exported, write_profile, tmp_path
):
    _, export = exported
    mixing = {"snr_db": 6, "lead_in_s": 1.5, "tail_s": 0.5}
    other = load_study(write_profile(mixing=mixing))
    with pytest.raises(DatasetError, match=r"lead_in_s: 2\.0, but the profile asks for 1\.5"):
        build_dataset(other, tmp_path / "build", 1, quiet, source=str(export))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.replace_schema_metadata(None), "is of version none of the data set"),
        (lambda table: table.drop_columns("seed"), r"is not of version \d .*seed: Field required"),
    ],
)
def test_an_export_of_another_version_is_refused(copied, tmp_path, change, message):
    study, export = copied
    for path in export.glob("*/metadata.parquet"):
        pq.write_table(change(pq.read_table(path)), path)
    with pytest.raises(DatasetError, match=f"{message}.* take an export of that version"):
        build_dataset(study, tmp_path / "build", 1, quiet, source=str(export))


@pytest.mark.parametrize("source", ["no/such/folder", "nowhere"])
def test_a_source_that_is_neither_a_folder_nor_a_data_set_says_what_it_can_be(source):
    with pytest.raises(DatasetError, match="a data set on the hub as OWNER/NAME@REVISION"):
        find_export(source)


def test_a_data_set_on_the_hub_is_fetched_at_its_revision(monkeypatch, tmp_path):
    asked = {}

    def fetched(name, **arguments):
        asked.update(arguments, name=name)
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetched)
    assert find_export("somebody/aor@v2") == tmp_path
    assert asked == {"name": "somebody/aor", "repo_type": "dataset", "revision": "v2"}
