"""Commands that make and validate data, and export and import data and results."""

import os
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, study_of
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.storage.progress import progress

app = typer.Typer()


@app.command()
def data(
    params: ParamsFile,
    build: BuildFolder = None,
    source: Annotated[
        str | None, typer.Option("--from", help="Use the clips of an export: folder or hub id.")
    ] = None,
) -> None:
    """Make the stimuli and their manifest; an interrupted run resumes where it stopped."""
    from aor_lib.stimuli.dataset import build_dataset

    study, folder = study_of(params, build)
    with progress("stimuli") as report:
        manifest = build_dataset(study, folder, os.cpu_count() or 1, report, source)
    typer.echo(f"The stimuli are complete; their manifest is {manifest}")


@app.command()
def validate(params: ParamsFile, build: BuildFolder = None) -> None:
    """Measure every stimulus again; exit with code 1 if one differs from the manifest."""
    from aor_lib.stimuli.validation import validate_dataset

    study, folder = study_of(params, build)
    with progress("validation") as report:
        violations = validate_dataset(study, folder, os.cpu_count() or 1, report)
    typer.echo("\n".join([*violations, f"{len(violations)} violations in {folder}"]))
    if violations:
        raise typer.Exit(1)


@app.command()
def export(
    params: ParamsFile,
    into: Annotated[Path, typer.Option(help="A new folder for the dataset, or a file NAME.zip.")],
    build: BuildFolder = None,
    clips: Annotated[bool, typer.Option(help="Include the clips in NAME.zip.")] = True,
) -> None:
    """Export a Hugging Face dataset, or all results (including harmful answers) as NAME.zip."""
    from aor_lib.inference.exchange import export_results
    from aor_lib.stimuli.export import export_dataset

    study, folder = study_of(params, build)
    if into.suffix != ".zip":
        typer.echo(f"{export_dataset(study, folder, into)}: the dataset and its card")
        return
    bundle = export_results(study, folder, into, clips=clips)
    typer.echo(
        f"{into}: {len(bundle.trials)} trials of {len(bundle.cards)} models, "
        f"{len(bundle.responses)} responses, {len(bundle.verdicts)} verdicts"
    )


@app.command("import")
def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE... [PARAMS]",
            help="NAME.zip files, then the profile; or a folder of sounds.",
        ),
    ],
    build: BuildFolder = None,
    forget: Annotated[
        str | None, typer.Option(metavar="ID", help="Remove the imported trials of a model.")
    ] = None,
    clips: Annotated[
        bool, typer.Option("--clips", help="Make a study from finished clips, in --build.")
    ] = False,
    sounds: Annotated[
        bool, typer.Option("--sounds", help="Add ESC-50, FSD50K or your sounds to the sound bank.")
    ] = False,
) -> None:
    """Import results for the same stimuli (replacing only failed trials), or sounds, or clips."""
    if clips or sounds:
        if len(sources) != 1 or clips == sounds or clips == (build is None):
            raise ParamsError("import: name one folder, with --sounds or with --clips --build")
        _import_sounds(sources[0], build)
        return
    from aor_lib.inference.exchange import import_results
    from aor_lib.inference.store import open_results

    *bundles, params = sources
    if bool(bundles) == (forget is not None):
        raise ParamsError("import: name NAME.zip files, or give --forget ID; then the profile")
    study, folder = study_of(params, build)
    if forget is not None:
        with open_results(folder) as store:
            typer.echo(f"{forget}: {store.forget_imported(forget)} imported trials removed")
        return
    for source in bundles:
        done = import_results(source, study, folder)
        typer.echo(
            f"{source}: {', '.join(done.models)}: {done.trials} trials, {done.answered} responses "
            f"added, {done.left_out} trials left out because the study lacks their stimuli"
        )
    typer.echo(f"Run 'aor judge {params}' to judge the answers that have no verdict yet")


def _import_sounds(folder: Path, build: Path | None) -> None:
    from aor_lib.audio.bank.importing import import_sounds
    from aor_lib.audio.bank.library import bank_folder
    from aor_lib.stimuli.imported_clips import import_clips

    into, take = (build, import_clips) if build else (bank_folder(), import_sounds)
    with progress("sounds") as report:
        done = take(folder, into, report)
    for file, reason in done.skipped:
        remedy = "; download it again, then repeat the import" if file in done.unreadable else ""
        typer.echo(f"{file}: {reason}{remedy}", err=True)
    typer.echo(f"Sounds added to {into}: {len(done.imported)}; skipped: {len(done.skipped)}")
    if done.unreadable or not done.imported:
        raise typer.Exit(1)
