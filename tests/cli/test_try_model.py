"""A further model beside a study, in Python and in the notebook that shows how."""

import json
import shutil
from pathlib import Path

import papermill
import pytest
import yaml

from aor_lib.cli.try_model import try_model
from aor_lib.config.params import ModelCard
from aor_lib.config.records import Arm, Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.inference.store import STORE, Store
from aor_lib.models.base import Answer, Failure, ModelError
from aor_lib.models.registry import load_model
from aor_lib.stimuli.manifest import load_stimuli
from tests.conftest import ScriptedModel
from tests.inference.conftest import Machine
from tests.models import checkpoints

NOTEBOOK = Path(__file__).parents[2] / "notebooks/add_a_model.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
REFUSAL = Answer("I'm sorry, but I can't help with that.", 9)


def refuser(name="new"):
    return ScriptedModel(lambda text: REFUSAL, name)


@pytest.fixture(scope="module")
def finished(tiny_study, tmp_path_factory):
    """A study with results, in a folder that is named after the smoke profile."""
    study, made = tiny_study
    build = tmp_path_factory.mktemp("finished") / "smoke"
    shutil.copytree(made, build)
    arms = [
        Arm("established", "1", "0" * 64, mitigation, None, Generation())
        for mitigation in ("none", "chain_of_thought")
    ]
    Machine(build, load_stimuli(build)).ask(refuser("established"), arms=arms)
    return study, build


@pytest.mark.slow
def test_the_models_rows_stand_beside_those_of_the_study_and_are_asked_for_once(finished, tmp_path):
    study, build = finished
    store = (build / STORE).read_bytes()
    model = refuser()
    results = try_model(model, study, build, tmp_path)
    assert set(results["condition"]) == {"benign_scene"}
    assert set(results["mitigation"]) == {"none"}
    assert set(results["label"]) == {"full_refusal"}
    stimuli = results.groupby("model")["stimulus_id"].apply(list)
    assert stimuli["new"] == stimuli["established"]
    assert len(stimuli["new"]) == len(study.scenarios) * 3 == sum(map(len, model.asked))
    asked = len(model.asked)
    assert len(try_model(model, study, build, tmp_path)) == len(results)
    assert len(model.asked) == asked
    assert (build / STORE).read_bytes() == store


@pytest.mark.slow
def test_an_id_that_the_study_has_and_a_model_that_only_fails_are_errors(finished, tmp_path):
    broken = ScriptedModel(lambda text: Failure("out of memory"), "new")
    study, build = finished
    with pytest.raises(ParamsError, match="model established: id: the study has it already"):
        try_model(refuser("established"), study, build, tmp_path)
    with pytest.raises(ModelError, match="new was stopped: "):
        try_model(broken, study, build, tmp_path)


@pytest.mark.nightly
def test_the_notebook_puts_a_tiny_checkpoint_beside_the_others(finished, tmp_path):
    study, build = finished
    card = {"id": "tiny", "title": "Tiny", "family": "Test", "kind": "hf", "licence": "none"}
    card["source"] = str(checkpoints.build("qwen2_audio", tmp_path / "checkpoint"))
    checkpoints.never_silent(tmp_path / "checkpoint")
    card |= {"settings": {"architecture": "qwen2_audio"}, "reach": {"batch_size": 2}}
    done = papermill.execute_notebook(
        NOTEBOOK,
        tmp_path / "executed.ipynb",
        parameters={"build": str(build), "clip_url": "clips", "card": card},
        progress_bar=False,
    )
    shown = {cell["id"]: cell.get("outputs") for cell in done.cells}
    checks = html_of(shown["check-it"])
    assert checks.count("<td>passed</td>") >= 10
    assert "<td>failed</td>" not in checks
    rows = html_of(shown["rates"])
    for model in ("tiny", "established"):
        assert f"<td>{model}</td>" in rows
    assert "id: tiny\n" in shown["card-file"][0]["text"]
    with Store(build / "add_a_model/tiny" / STORE) as store:
        assert set(store.frame(study.profile.judge)["status"]) == {"ok"}


def html_of(outputs):
    """Output of a cell, without progress and warnings of libraries that load a checkpoint."""
    shown = (output.get("data", {}) for output in outputs)
    return next(data["text/html"] for data in shown if "text/html" in data)


def test_the_cards_that_the_notebook_shows_are_valid(monkeypatch):
    monkeypatch.setenv("MY_KEY", "none")
    text = "\n".join("".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "markdown")
    blocks = [block.split("```")[0] for block in text.split("```yaml\n")[1:]]
    assert len(blocks) == 3
    for block in blocks:
        card = ModelCard.model_validate(yaml.safe_load(block))
        load_model(card.model_copy(update={"memory_gib": None, "revision": "0" * 40}))
