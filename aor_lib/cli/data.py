"""Verbs that make, check and hand on the data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, progress, study_of

if TYPE_CHECKING:
    from aor_lib.audio.sound_files import ImportReport

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


@app.command("import-recordings")
def import_recordings_(
    folder: Annotated[Path, typer.Argument(help="ESC-50, FSD50K, or one folder per class.")],
    into: Annotated[Path, typer.Option(help="The library, for a profile's 'recordings'.")],
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="Which labels are heard in which scenes.  [default: params/recordings.yaml]"
        ),
    ] = None,
) -> None:
    """Add recorded sounds to a library of backgrounds, which scenes then prefer."""
    from aor_lib.audio.recordings.importing import import_recordings
    from aor_lib.config.params import PARAMS

    mapping = mapping or PARAMS / "recordings.yaml"
    with progress("recordings") as report:
        done = import_recordings(folder, into, report, mapping)
    _say_imported(done, into)


@app.command("import-clips")
def import_clips_(
    folder: Annotated[Path, typer.Argument(help="Finished clips without labels.")],
    build: Annotated[Path, typer.Option(help="Folder of the study that is made of them.")],
) -> None:
    """Make a study of finished clips, for every analysis that needs no label."""
    from aor_lib.stimuli.imported_clips import import_clips

    with progress("clips") as report:
        done = import_clips(folder, build, report)
    _say_imported(done, build)


@app.command()
def export(
    params: ParamsFile,
    into: Annotated[Path, typer.Option(help="A new folder, for datasets.load_dataset.")],
    build: BuildFolder = None,
) -> None:
    """Write the data set for others: sound files, metadata, data card and Croissant."""
    from aor_lib.stimuli.export import export_dataset

    study, folder = study_of(params, build)
    written = export_dataset(folder, into, study)
    typer.echo(f"The data set of profile {study.profile.name} is in {written}, with its data card")


def _say_imported(done: ImportReport, into: Path) -> None:
    for file, reason in done.skipped:
        typer.echo(f"{file}: {reason}", err=True)
    said = f"Sounds added to {into}: {len(done.imported)}"
    if done.skipped:
        said += f"; left out: {len(done.skipped)}"
    if done.unreadable:
        typer.echo(f"{said}, of which {len(done.unreadable)} could not be read")
        raise typer.Exit(1)
    typer.echo(said)
