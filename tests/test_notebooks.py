import json
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import papermill
import pytest
from nbformat.v4 import new_code_cell

import aor_lib
from aor_lib.models import registry
from aor_lib.models.base import Answer, Failure, Turn

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SMOKE = ROOT / "build" / "smoke"
CELLS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))["cells"]
    for path in sorted(NOTEBOOKS.glob("*.ipynb"))
}
CONVENTIONS = {"95%", "5%", "80%"}  # levels of confidence, significance and power
FORKS = {
    "context": {"baseline": "speech_only", "controls": ["noise"]},
    "mitigation": {"baseline": "prompt"},
    "paralinguistics": {"baselines": {"emotion": "angry"}},
}


def of_kind(name, kind):
    return [cell for cell in CELLS[name] if cell["cell_type"] == kind]


def sources(name, kind):
    return ["".join(cell["source"]) for cell in of_kind(name, kind)]


@pytest.mark.parametrize("name", CELLS)
def test_a_notebook_is_committed_without_outputs_and_with_parameters_that_it_uses(name):
    cells, (parameters, *others) = of_kind(name, "code"), sources(name, "code")
    assert all(cell["outputs"] == [] for cell in cells)
    assert [c for c in cells if "parameters" in c["metadata"].get("tags", [])] == cells[:1]
    for parameter in re.findall(r"^(\w+) = ", parameters, re.MULTILINE):
        assert re.search(rf"\b{parameter}\b", "\n".join(others)), parameter


def test_a_model_with_a_word_filter_keeps_failures_and_reads_what_was_asked(monkeypatch):
    kept = [Failure("kill"), Answer("Kill it.", 3, {"transcript": "Wait."}), Answer("Cut.", 2)]
    answers = [*kept, Answer("", 1, {"transcript": "Kill!"}), Answer("", 1)]
    base = SimpleNamespace(answer=lambda conversations, generation: answers)
    monkeypatch.setattr(registry, "load_model", lambda name: base)
    names = {}
    code = "\n".join(sources("add_a_model", "code"))
    exec(code[code.index("import re\n") : code.index("sounding = ")], names)  # noqa: S102
    asked = [(Turn("user", text=text),) for text in ("kill", None, "Wait.", None, "Kill!")]
    *others, heard, read = names["WordFilter"](SimpleNamespace(revision="1")).answer(asked, None)
    assert others == kept
    assert (bool(heard.text), heard.text, heard.heard) == (True, read.text, answers[-2].heard)


@pytest.mark.parametrize("name", CELLS)
def test_no_prose_of_a_notebook_states_a_result(name):
    prose = "\n".join(sources(name, "markdown"))
    assert set(re.findall(r"[\d.]*\d ?(?:%|points?\b|percent)", prose)) <= CONVENTIONS


def test_the_code_of_notebooks_is_visible():
    assert len(re.findall('"(?:hide|remove)-input"', json.dumps(CELLS))) <= 20


def test_results_counts_every_family_of_tests_of_the_chapters():
    chapters = ("context", "paralinguistics", "histories", "mitigation", "steering")
    paired = sum(code.count(".paired(") for name in chapters for code in sources(name, "code"))
    assert (NOTEBOOKS / "families.py").read_text(encoding="utf-8").count(".paired(") == paired


def fork(name, folder, **parameters):
    """Differences that a notebook writes with other parameters."""
    notebook = papermill.iorw.load_notebook_node(str(NOTEBOOKS / f"{name}.ipynb"))
    kept = f"change.frame.to_csv({str(folder / name)!r}, index=False)"
    notebook.cells.append(new_code_cell(kept, metadata={"tags": []}))
    parameters |= {"build": str(SMOKE)}
    papermill.execute_notebook(notebook, None, parameters, progress_bar=False, cwd=NOTEBOOKS)
    return pd.read_csv(folder / name)


def expected_of(name, study):
    """Differences that a notebook is to find with the parameters of its fork."""
    if name == "mitigation":
        arms = study.select("mitigation").where(method="prompt")
        return arms.paired("kind", baseline="prompt", by=["arm"])
    if name == "paralinguistics":
        return study.select("speaker").where(intent="pseudo_harmful").paired(emotion="angry")
    heard = study.select("context").where(intent="pseudo_harmful")
    return heard.where(condition=["speech_only", "noise"]).paired("condition", "speech_only")


@pytest.mark.slow
@pytest.mark.parametrize("name", FORKS)
def test_a_fork_has_the_numbers_of_its_judge_and_baselines(name, tmp_path):
    forked = fork(name, tmp_path, judge="string-match", **FORKS[name])
    expected = expected_of(name, aor_lib.open(SMOKE, judge="string-match"))
    columns = [*expected.keys, "difference", "low", "high"]
    here = expected.frame[columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(forked[columns], here, check_dtype=False)
    assert not forked[columns].equals(fork(name, tmp_path)[columns])
