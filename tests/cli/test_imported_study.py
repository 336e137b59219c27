"""Clips from elsewhere, without labels, go the whole way to the charts."""

import hashlib

import papermill
import pytest
import soundfile
from typer.testing import CliRunner

from aor_lib.analysis.results import load_results
from aor_lib.cli.app import app
from aor_lib.config.params import PARAMS
from tests.audio.sounds import put

pytestmark = pytest.mark.slow

NIGHTLY = [pytest.param(n, marks=pytest.mark.nightly) for n in ("dataset", "context", "mitigation")]


@pytest.fixture(scope="module")
def found(tiny_study, tmp_path_factory):
    _, tiny = tiny_study
    folder = tmp_path_factory.mktemp("found")
    clips = sorted((tiny / "clips").glob("*.benign_scene.*"))[:3]
    # As in the cache of the hub's client: folders of links.
    for clip, kind in zip(clips, ("wav", "mp3", "flac"), strict=True):
        blob = put(folder / "blobs" / hashlib.sha256(clip.read_bytes()).hexdigest(), b"")
        soundfile.write(blob, *soundfile.read(clip), format=kind.upper())
        (folder / "snapshot/data" / kind).mkdir(parents=True)
        (folder / "snapshot/data" / kind / f"0.{kind}").symlink_to(blob)
    put(folder / "snapshot/.gitattributes", "*.wav filter=lfs")
    profile, build = tiny.parent / "tiny.yaml", folder / "build"
    calls = [["import", str(folder / "snapshot"), "--clips"]]
    calls += [[verb, str(profile)] for verb in ("validate", "run", "judge")]
    for call in calls:
        done = CliRunner().invoke(app, [*call, "--build", str(build)])
        assert done.exit_code == 0, done.output
    return build


def test_every_imported_clip_is_answered_and_judged_by_every_model(found):
    results = load_results(found)
    names = {name.rpartition("-")[0] for name in results["stimulus_id"]}
    assert names == {"data-wav-0", "data-mp3-0", "data-flac-0"}
    plain = results[results["mitigation"] == "none"]
    assert len(plain) == 3 * plain["model"].nunique()
    assert (results["status"] == "ok").all()
    assert results["label"].notna().all()
    assert set(results["intent"]) == {"unlabelled"}


def shown(name, kind, **parameters):
    """Outputs of one MIME type of a chapter's cells."""
    folder = PARAMS.parent / "notebooks"
    notebook = papermill.execute_notebook(
        folder / f"{name}.ipynb", None, parameters, progress_bar=False, cwd=folder
    )
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    return "\n".join(str(one.get("data", {}).get(kind, "")) for one in outputs)


@pytest.mark.parametrize("name", ["results", "paralinguistics", *NIGHTLY])
def test_every_chapter_runs_on_imported_clips_and_claims_no_number_it_has_not(found, name):
    said = shown(name, "text/markdown", build=str(found))
    assert said
    assert "nan" not in said.lower().split()
    assert "nan%" not in said


def test_refusal_of_imported_clips_stands_beside_that_of_the_models_own_study(
    found, tiny_study, tmp_path, monkeypatch
):
    """By ``aor status``, and in the chapter on AOR-Bench."""
    _, own = tiny_study
    profile = own.parent / "tiny.yaml"
    for verb in ("run", "judge"):
        assert not CliRunner().invoke(app, [verb, str(profile), "--build", str(own)]).exit_code
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "tiny").symlink_to(own)
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["status", str(profile), "--build", str(found)]).output
    page = shown("aor_bench", "text/html", build=str(own), imported=str(found))
    for text in (told, page):
        assert "Not labelled" in text
        assert "Pseudo-harmful" in text
