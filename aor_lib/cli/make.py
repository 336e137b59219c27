"""The verb that brings a study up to date, stage by stage."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from aor_lib.cli import answers
from aor_lib.cli.data import WORKERS, data, validate
from aor_lib.cli.steps import BuildFolder, ParamsFile, study_of

if TYPE_CHECKING:
    from aor_lib.config.params import StudyParams
    from aor_lib.study import Study

app = typer.Typer()

Stage = tuple[str, Callable[[], object]]
"""Title of a step of a study, and what does it."""


@app.command()
def make(params: ParamsFile, build: BuildFolder = None) -> None:
    """Bring a study up to date: data, validate, run, judge and steer, each only where needed."""
    study, folder = study_of(params, build)
    run_stages(stages(params, study, folder))


def run(params: Path | str, build: Path | str | None = None) -> Study:
    """Bring a study up to date: stimuli, validation, answers, verdicts and steering.

    Parameters
    ----------
    params
        A profile, such as ``params/smoke.yaml``.
    build
        Folder of the study; by default ``build/PROFILE``.

    Returns
    -------
    The study, opened.

    Raises
    ------
    ModelError
        If a model of the profile cannot run here.

    Examples
    --------
    >>> run("params/smoke.yaml").select("headline").frame["model"].nunique()  # doctest: +SKIP
    2
    """
    from aor_lib.study import open as open_study

    make(Path(params), Path(build) if build else None)
    return open_study(study_of(Path(params), Path(build) if build else None)[1])


def run_stages(stages: Sequence[Stage]) -> None:
    """Run stages in their order; print the title of each, its time, and which are left."""
    titles = [title for title, _ in stages]
    for number, (title, stage) in enumerate(stages, start=1):
        typer.echo(f"{number} of {len(stages)}: {title}")
        began = time.monotonic()
        stage()
        left = f"; left: {', '.join(titles[number:])}" if titles[number:] else ""
        typer.echo(f"    {title} took {duration(time.monotonic() - began)}{left}")


def duration(seconds: float) -> str:
    """Seconds in words: whole minutes from two minutes on."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def stages(params: Path, study: StudyParams, folder: Path) -> list[Stage]:
    """Stages that bring a study up to date."""
    from aor_lib.inference.engine import load_models
    from aor_lib.models.base import ModelError

    _, unable = load_models(study.models)
    if unable:  # said before hours are spent on stimuli
        more = f" (and {len(unable) - 1} more models)" if len(unable) > 1 else ""
        raise ModelError(f"{unable[0]}{more}; 'aor models list' says what each needs")

    def steering() -> None:
        answers.steer(params, folder)
        record_state(folder, study.profile.judge)

    return [
        ("stimuli", partial(data, params, folder, WORKERS)),
        ("validation", partial(validate, params, folder, WORKERS)),
        ("answers", partial(answers.run, params, folder)),
        ("verdicts", partial(answers.judge, params, build=folder)),
        ("steering", steering),
    ]


def record_state(folder: Path, judge_id: str) -> None:
    """Write the file that changes exactly when something that pages show does."""
    import pandas as pd

    from aor_lib.analysis.results import load_results
    from aor_lib.stimuli.manifest import VALIDATION
    from aor_lib.storage.atomic_write import atomic_write
    from aor_lib.storage.progress import STATE

    digest = hashlib.sha256()
    results = load_results(folder, judge_id)
    digest.update(pd.util.hash_pandas_object(results, index=False).to_numpy().tobytes())
    for path in [folder / VALIDATION, *sorted((folder / "steering").glob("*.parquet"))]:
        digest.update(path.read_bytes())
    state = f"{digest.hexdigest()}\n"
    path = folder / STATE
    if not path.is_file() or path.read_text(encoding="ascii") != state:
        with atomic_write(path) as stream:
            stream.write(state.encode())
