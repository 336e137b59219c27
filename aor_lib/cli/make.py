"""The verb that brings a whole study up to date, as `make book` does before it makes pages."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import typer

from aor_lib.cli.answers import judge, load_models, run
from aor_lib.cli.data import data, validate
from aor_lib.cli.steering import steer
from aor_lib.cli.steps import BuildFolder, ParamsFile, study_of
from aor_lib.models.base import ModelError

app = typer.Typer()

STATE = "study.sha256"
"""The file in a study's folder that changes exactly when something that pages show does."""


@app.command()
def make(params: ParamsFile, build: BuildFolder = None) -> None:
    """Bring a study up to date: data, validate, run, judge and steer, each only where needed."""
    study, folder = study_of(params, build)
    _, unable = load_models(study.models)
    if unable:  # said before hours are spent on stimuli
        more = f" (and {len(unable) - 1} more models)" if len(unable) > 1 else ""
        raise ModelError(f"{unable[0]}{more}; 'aor models list' says what each needs")
    workers = os.cpu_count() or 1
    data(params, folder, workers)
    validate(params, folder, workers)
    run(params, folder)
    judge(params, build=folder)
    steer(params, folder)
    _record_state(folder, study.profile.judge)


def _record_state(folder: Path, judge_id: str) -> None:
    import pandas as pd

    from aor_lib.analysis.results import load_results
    from aor_lib.stimuli.manifest import VALIDATION
    from aor_lib.storage.whole_file import whole_file

    digest = hashlib.sha256()
    results = load_results(folder, judge_id)
    digest.update(pd.util.hash_pandas_object(results, index=False).to_numpy().tobytes())
    for path in [folder / VALIDATION, *sorted((folder / "steering").glob("*.parquet"))]:
        digest.update(path.read_bytes())
    state = f"{digest.hexdigest()}\n"
    path = folder / STATE
    if not path.is_file() or path.read_text(encoding="ascii") != state:
        with whole_file(path) as stream:
            stream.write(state.encode())
