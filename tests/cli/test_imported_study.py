"""Clips from elsewhere, without labels, go the whole way to the charts."""

import shutil

import papermill
import pytest
from typer.testing import CliRunner

from aor_lib.analysis.results import load_results
from aor_lib.cli import app

pytestmark = pytest.mark.slow

NIGHTLY = ("dataset", "context", "paralinguistics", "mitigation")


@pytest.fixture(scope="module")
def found(tiny_study, tmp_path_factory):
    """The build folder of a study of imported clips, answered and judged."""
    _, tiny = tiny_study
    folder = tmp_path_factory.mktemp("found")
    (folder / "clips").mkdir()
    for clip in sorted((tiny / "clips").glob("*.benign_scene.*"))[:3]:
        shutil.copy(clip, folder / "clips")
    profile, build = tiny.parent / "tiny.yaml", folder / "build"
    calls = [["import", str(folder / "clips"), "--clips"]]
    calls += [[verb, str(profile)] for verb in ("validate", "run", "judge")]
    for call in calls:
        done = CliRunner().invoke(app, [*call, "--build", str(build)])
        assert done.exit_code == 0, done.output
    return build


def test_every_imported_clip_is_answered_and_judged_by_every_model(found):
    results = load_results(found)
    plain = results[results["mitigation"] == "none"]
    assert len(plain) == 3 * plain["model"].nunique()
    assert (results["status"] == "ok").all()
    assert results["label"].notna().all()
    assert set(results["intent"]) == {"unlabelled"}


@pytest.mark.parametrize(
    "name",
    ["results", *(pytest.param(name, marks=pytest.mark.nightly) for name in NIGHTLY)],
)
def test_every_chapter_runs_on_imported_clips_and_claims_no_number_it_has_not(found, name, params):
    folder = params.parent / "notebooks"
    notebook = papermill.execute_notebook(
        folder / f"{name}.ipynb",
        None,
        parameters={"build": str(found)},
        progress_bar=False,
        cwd=folder,
    )
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    said = "\n".join(str(one.get("data", {}).get("text/markdown", "")) for one in outputs)
    assert said
    assert "nan" not in said.lower().split()
    assert "nan%" not in said
