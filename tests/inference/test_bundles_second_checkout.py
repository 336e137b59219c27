"""A bundle that is made elsewhere: in a second checkout, by a model that only it has."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

import aor_lib
from aor_lib.analysis import stats
from aor_lib.analysis.results import load_cards, load_provenance, load_results
from aor_lib.config.params import load_study
from aor_lib.inference.bundles import import_results
from aor_lib.inference.engine import plan_trials, run_trials
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import DEFAULT_JUDGE, JUDGES
from aor_lib.judge.study import judge_study
from aor_lib.models.registry import load_model
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli
from tests.conftest import TINY

pytestmark = pytest.mark.nightly

AOR = "import aor_lib; print(aor_lib.__file__); from aor_lib.cli import main; main()"
PROJECT = Path(aor_lib.__file__).parent.parent


def study_folder(folder: Path, stimuli: pd.DataFrame, clips: Path) -> Path:
    """A folder with the stimuli of a study, and no results."""
    shutil.copytree(clips, folder / "clips")
    stimuli.to_parquet(folder / MANIFEST)
    return folder


def write_profile(params: Path, model: str) -> Path:
    """The tiny study for one model of its own: another id for one that the project has."""
    (params / "models").mkdir(parents=True, exist_ok=True)
    card = yaml.safe_load((PROJECT / f"params/models/{TINY['models'][0]}.yaml").read_text())
    card |= {"id": model, "title": f"The {model} model"}
    (params / f"models/{model}.yaml").write_text(yaml.safe_dump(card))
    (params / "tiny.yaml").write_text(
        yaml.safe_dump(TINY | {"models": [model], "mitigations": ["none"]})
    )
    return params / "tiny.yaml"


def second_checkout(folder: Path) -> Path:
    """A copy of the project."""
    for name in ("aor_lib", "params"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / name, folder / name, ignore=ignored)
    return folder


def aor(checkout: Path, *arguments: object) -> None:
    """Run `aor` as a checkout has it."""
    command = [sys.executable, "-c", AOR, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(checkout))


def test_a_model_of_a_second_checkout_stands_beside_those_of_the_first(tiny_study, tmp_path):
    _, build = tiny_study
    stimuli = pd.read_parquet(build / MANIFEST).drop_duplicates("condition").head(3)
    there = second_checkout(tmp_path / "there")
    study_folder(there / "build/tiny", stimuli, build / "clips")
    profile = write_profile(there / "params", "distant")
    aor(there, "run", profile)
    aor(there, "judge", profile)
    aor(there, "results", "export", profile, "--into", tmp_path / "bundle")

    here = study_folder(tmp_path / "here", stimuli, build / "clips")
    study = load_study(write_profile(tmp_path / "params", "near"))
    done = import_results(tmp_path / "bundle", study, here)
    assert (done.models, done.new, done.answered) == (("distant",), 3, 3)
    near = load_model(study.models[0])
    rows = load_stimuli(here)
    with Store(here / STORE) as store:
        trials = plan_trials(study, rows, [near])
        run_trials(trials, [near], rows, here, store, lambda progress: None)
    judge_study(here, JUDGES[DEFAULT_JUDGE], lambda done, of: None)

    results = load_results(here)
    assert results.groupby("model").size().to_dict() == {"distant": 3, "near": 3}
    assert set(stats.rates(results, ["model"])["model"]) == {"distant", "near"}
    said = results.pivot(index="stimulus_id", columns="model", values=["response", "label"])
    assert said.notna().all(axis=None)
    # It is one model under two ids: whoever asks it, it says the same.
    assert said.xs("near", axis=1, level="model").equals(said.xs("distant", axis=1, level="model"))
    assert load_cards(here)["distant"].title == "The distant model"
    origins = load_provenance(here).set_index("model")
    assert origins["profile"].to_dict() == {"distant": "tiny", "near": ""}
    for column in ("revision", "libraries", "aor_version"):
        assert origins.loc["distant", column] == origins.loc["near", column]
