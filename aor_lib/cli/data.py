"""Verbs that make and check the data."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, progress, study_of

app = typer.Typer()

WORKERS = os.cpu_count() or 1
Workers = Annotated[int, typer.Option(min=1, help="Number of processes.")]


@app.command()
def data(
    params: ParamsFile,
    build: BuildFolder = None,
    workers: Workers = WORKERS,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="Take the clips of an export: its folder, or OWNER/NAME@REVISION."
        ),
    ] = None,
    make_missing: Annotated[
        bool, typer.Option("--make-missing", help="Make the clips that the export lacks.")
    ] = False,
) -> None:
    """Make the stimuli and their manifest; goes on where an earlier call was cut off."""
    from aor_lib.stimuli.dataset import build_dataset
    from aor_lib.stimuli.manifest import load_manifest

    study, folder = study_of(params, build)
    with progress("stimuli") as report:
        manifest = build_dataset(
            study, folder, workers, report, source=source, make_missing=make_missing
        )
    typer.echo(f"{len(load_manifest(folder)):,} stimuli are made, and described in {manifest}")


@app.command()
def validate(
    params: ParamsFile,
    build: BuildFolder = None,
    workers: Workers = WORKERS,
) -> None:
    """Measure every stimulus again; exits with 1 where one is not what the manifest claims."""
    from aor_lib.stimuli.validation import validate_dataset

    study, folder = study_of(params, build)
    with progress("validation") as report:
        violations = validate_dataset(study, folder, workers, report)
    for violation in violations:
        typer.echo(violation, err=True)
    if violations:
        typer.echo(f"{len(violations)} violations of what {folder} must be")
        raise typer.Exit(1)
    typer.echo("Every stimulus is what the manifest says")
