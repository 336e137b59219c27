"""Verbs that hand data and results on to other machines, and take them from there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, progress, require, study_of
from aor_lib.config.typed_yaml import ParamsError

if TYPE_CHECKING:
    from aor_lib.audio.sound_files import ImportReport

app = typer.Typer()


@app.command()
def export(
    params: ParamsFile,
    into: Annotated[Path, typer.Option(help="A new folder for a data set, or a file NAME.zip.")],
    build: BuildFolder = None,
    clips: Annotated[bool, typer.Option(help="Whether NAME.zip holds the clips.")] = True,
) -> None:
    """Write the data set for datasets.load_dataset, or all results as NAME.zip.

    'make book FROM=NAME.zip' makes a book of results with their clips. Answers to harmful
    utterances are among them, as they are stored.
    """
    study, folder = study_of(params, build)
    if into.suffix != ".zip":
        from aor_lib.stimuli.export import export_dataset

        written = export_dataset(folder, into, study)
        typer.echo(f"The data set of profile {study.profile.name} is in {written}, with its card")
        return
    from aor_lib.inference.exchange import export_results

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
            help="NAME.zip of 'aor export' or NAME.eval of inspect_ai, and then the profile whose "
            "results they join; or, with --clips or --recordings, a folder of sounds.",
        ),
    ],
    build: BuildFolder = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Take only this model's results; repeatable.")
    ] = None,
    forget: Annotated[
        str | None, typer.Option(metavar="ID", help="Take what was imported of a model out again.")
    ] = None,
    clips: Annotated[
        bool, typer.Option("--clips", help="Make a study of finished clips, in --build.")
    ] = False,
    recordings: Annotated[
        Path | None,
        typer.Option(help="Add ESC-50, FSD50K, or one folder per class to this library."),
    ] = None,
) -> None:
    """Add results of the same stimuli to a study, or sounds; what is there is never replaced."""
    if recordings is not None or clips:
        if len(sources) != 1 or (clips and build is None):
            raise ParamsError("import: name one folder of sounds, and --build for --clips")
        _import_sounds(sources[0], recordings, build)
        return
    *bundles, params = sources
    study, folder = study_of(params, build)
    if forget is not None:
        from aor_lib.inference.exchange import forget_model

        typer.echo(f"{forget}: {forget_model(forget, folder)} imported trials are taken out")
        return
    from aor_lib.inference.exchange import import_results
    from aor_lib.stimuli.manifest import MANIFEST

    require(folder / MANIFEST, "aor data")
    for source in bundles:
        done = import_results(source, study, folder, model or ())
        typer.echo(
            f"{source}: {', '.join(done.models)}: {done.trials} trials, "
            f"{done.answered} responses added"
        )
        if done.left_out:
            typer.echo(
                f"{source}: {done.left_out} trials are left out: the study lacks their stimuli",
                err=True,
            )
    typer.echo(f"'aor judge {params}' judges what the study's judge has not judged yet")


def _import_sounds(folder: Path, library: Path | None, build: Path | None) -> None:
    done: ImportReport
    with progress("sounds") as report:
        if library is not None:
            from aor_lib.audio.recordings.importing import import_recordings
            from aor_lib.config.params import PARAMS

            into = library
            done = import_recordings(folder, library, report, PARAMS / "recordings.yaml")
        elif build is not None:
            from aor_lib.stimuli.imported_clips import import_clips

            into = build
            done = import_clips(folder, build, report)
    for file, reason in done.skipped:
        typer.echo(f"{file}: {reason}", err=True)
    typer.echo(f"Sounds added to {into}: {len(done.imported)}; left out: {len(done.skipped)}")
    if done.unreadable:
        typer.echo(f"{len(done.unreadable)} could not be read", err=True)
        raise typer.Exit(1)
