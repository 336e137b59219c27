"""Notebooks as they are committed, and as somebody forks them."""

import json
import re
from pathlib import Path

import pandas as pd
import papermill
import pytest
from nbformat.v4 import new_code_cell

import aor_lib

ROOT = Path(__file__).parents[1]
SMOKE = ROOT / "build" / "smoke"
CELLS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))["cells"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
}
CONVENTIONS = {"95%", "5%", "80%"}  # levels of confidence, significance and power


def of_kind(name, kind):
    return [cell for cell in CELLS[name] if cell["cell_type"] == kind]


def has_tag(cell, tag):
    return tag in cell["metadata"].get("tags", [])


@pytest.mark.parametrize("name", CELLS)
def test_a_notebook_is_committed_without_outputs_and_with_a_parameters_cell(name):
    assert all(cell["outputs"] == [] for cell in of_kind(name, "code"))
    assert sum(has_tag(cell, "parameters") for cell in of_kind(name, "code")) == 1


@pytest.mark.parametrize("name", CELLS)
def test_no_prose_of_a_notebook_states_a_result(name):
    """Measurements differ from build to build, so only a cell can give them."""
    prose = "\n".join("".join(cell["source"]) for cell in of_kind(name, "markdown"))
    assert set(re.findall(r"[\d.]*\d ?(?:%|points?\b|percent)", prose)) <= CONVENTIONS


def test_the_code_of_notebooks_is_visible():
    hidden = ("hide-input", "remove-input")
    cells = [cell for name in CELLS for cell in of_kind(name, "code")]
    assert sum(any(has_tag(cell, tag) for tag in hidden) for cell in cells) <= 20


def test_results_counts_every_family_of_tests_of_the_chapters():
    chapters = ("context", "paralinguistics", "histories", "mitigation", "steering")
    cells = [cell for name in chapters for cell in of_kind(name, "code")]
    paired = "".join("".join(cell["source"]) for cell in cells).count(".paired(")
    counted = (ROOT / "notebooks" / "families.py").read_text(encoding="utf-8").count(".paired(")
    assert counted == paired


@pytest.fixture(scope="module")
def fork(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forks")

    def execute(name, **parameters):
        notebook = papermill.iorw.load_notebook_node(str(ROOT / "notebooks" / f"{name}.ipynb"))
        kept = folder / f"{name}.csv"
        notebook.cells.append(
            new_code_cell(f"change.frame.to_csv({str(kept)!r}, index=False)", metadata={"tags": []})
        )
        papermill.execute_notebook(
            notebook,
            None,
            {"build": str(SMOKE)} | parameters,
            progress_bar=False,
            cwd=ROOT / "notebooks",
        )
        return pd.read_csv(kept)

    return execute


def same(executed, expected):
    """Compare what a notebook wrote with estimates that are made here."""
    numbers = ["difference", "low", "high"]
    keys = [*expected.keys]
    here = expected.frame[[*keys, *numbers]].reset_index(drop=True)
    pd.testing.assert_frame_equal(executed[[*keys, *numbers]], here, check_dtype=False)


@pytest.mark.slow
def test_a_fork_of_context_has_the_numbers_of_its_judge_and_condition(fork):
    executed = fork("context", judge="string-match", baseline="speech_only", controls=["noise"])
    context = aor_lib.open(SMOKE, judge="string-match").select("context")
    sounding = context.where(intent="pseudo_harmful", condition=["speech_only", "noise"])
    same(executed, sounding.paired("condition", baseline="speech_only"))
    assert set(executed["baseline"]) == {"speech_only"}
    assert set(fork("context")["baseline"]) == {"benign_scene"}


@pytest.mark.slow
def test_a_fork_of_mitigation_has_the_numbers_of_its_judge_and_baseline(fork):
    executed = fork("mitigation", judge="string-match", baseline="prompt")
    prompts = aor_lib.open(SMOKE, judge="string-match").select("mitigation").where(method="prompt")
    same(executed, prompts.paired("kind", baseline="prompt", by=["arm"]))
    assert set(executed["level"]) == {"control"}


@pytest.mark.slow
def test_a_fork_of_paralinguistics_has_the_numbers_of_its_judge_and_baselines(fork):
    baselines = {"emotion": "angry"}
    executed = fork("paralinguistics", judge="string-match", baselines=baselines)
    spoken = aor_lib.open(SMOKE, judge="string-match").select("speaker")
    same(executed, spoken.where(intent="pseudo_harmful").paired(**baselines))
    assert set(executed["level"]) == {"neutral"}
