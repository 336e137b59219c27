"""The verb that brings a whole study up to date, as `make book` does before it makes pages."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from aor_lib.cli.answers import judge, load_models, run
from aor_lib.cli.data import data, validate
from aor_lib.cli.steering import steer
from aor_lib.cli.steps import BuildFolder, ParamsFile, run_stages, study_of

if TYPE_CHECKING:
    from aor_lib.config.params import Study

app = typer.Typer()


@app.command()
def make(params: ParamsFile, build: BuildFolder = None) -> None:
    """Bring a study up to date: data, validate, run, judge and steer, each only where needed."""
    study, folder = study_of(params, build)
    run_stages(study_stages(params, study, folder))


def study_stages(
    params: Path, study: Study, folder: Path
) -> list[tuple[str, Callable[[], object]]]:
    """Titles of the steps of a study, and what does each."""
    from aor_lib.models.base import ModelError

    _, unable = load_models(study.models)
    if unable:  # said before hours are spent on stimuli
        more = f" (and {len(unable) - 1} more models)" if len(unable) > 1 else ""
        raise ModelError(f"{unable[0]}{more}; 'aor models list' says what each needs")
    workers = os.cpu_count() or 1

    def steering() -> None:
        steer(params, folder)
        record_state(folder, study.profile.judge)

    return [
        ("stimuli", partial(data, params, folder, workers)),
        ("validation", partial(validate, params, folder, workers)),
        ("answers", partial(run, params, folder)),
        ("verdicts", partial(judge, params, build=folder)),
        ("steering", steering),
    ]


def record_state(folder: Path, judge_id: str) -> None:
    """Write the file that changes exactly when something that pages show does."""
    import pandas as pd

    from aor_lib.analysis.results import load_results
    from aor_lib.stimuli.manifest import VALIDATION
    from aor_lib.storage.stages import STATE
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
