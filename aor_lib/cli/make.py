"""The command that brings a study up to date, stage by stage."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from aor_lib.cli import answers
from aor_lib.cli.data import data, validate
from aor_lib.cli.steps import BuildFolder, ParamsFile, study_of
from aor_lib.config.params import StudyParams
from aor_lib.storage.progress import progress

if TYPE_CHECKING:
    from aor_lib.study import Study

app = typer.Typer()

Stage = tuple[str, Callable[[], object]]  # title of a step of a study, and what does it


@app.command()
def make(params: ParamsFile, build: BuildFolder = None) -> None:
    """Bring a study up to date: data, validate, run, judge and steer, each only where needed."""
    run(params, build)


def run(params: Path | str, build: Path | str | None = None) -> "Study":
    """Bring a study up to date, as ``aor make`` does, and open it.

    Parameters
    ----------
    params
        Path of a profile, such as ``params/smoke.yaml``.
    build
        Folder of the study; by default ``build/PROFILE``.

    Examples
    --------
    >>> study = run("params/smoke.yaml")  # doctest: +ELLIPSIS
    1 of 5: stimuli
    ...
    >>> sorted(set(study.trials["model"]))
    ['ref-contextual', 'ref-permissive']
    """
    from aor_lib.study import open as open_study

    study, folder = study_of(Path(params), Path(build) if build else None)
    run_stages(stages(Path(params), study, folder))
    return open_study(folder)


def run_stages(stages: Sequence[Stage]) -> None:
    """Run stages in order; print the title and the duration of each."""
    for number, (title, stage) in enumerate(stages, start=1):
        typer.echo(f"{number} of {len(stages)}: {title}")
        began = time.monotonic()
        stage()
        typer.echo(f"    {title} took {timedelta(seconds=round(time.monotonic() - began))}")


def stages(params: Path, study: StudyParams, folder: Path) -> list[Stage]:
    """List the stages that bring a study up to date, after checking its judge and models."""
    from aor_lib.inference.engine import load_models, run_study
    from aor_lib.judge import load_judge
    from aor_lib.models.base import ModelError

    def ask() -> None:
        with progress("trials") as report:
            lacking = run_study(study, folder, report, partial(typer.echo, err=True))
        # Some trials are blocked or fail each time: the study is judged without them.
        if "missing" in lacking:
            raise typer.Exit(1)

    load_judge(study.profile.judge)
    _, unable = load_models(study.models)
    if unable:  # said, as of the judge, before hours are spent on stimuli
        raise ModelError(f"{'; '.join(unable.values())}; 'aor models list' shows what each needs")
    return [
        ("stimuli", partial(data, params, folder)),
        ("validation", partial(validate, params, folder)),
        ("answers", ask),
        ("verdicts", partial(answers.judge, params, build=folder)),
        ("steering", partial(answers.steer, params, folder)),
    ]
