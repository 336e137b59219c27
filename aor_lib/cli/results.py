"""Verbs that hand results on: to other machines, and from them."""

from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, require, study_of

app = typer.Typer(no_args_is_help=True, help="Share results between machines.")


@app.command("export")
def export_(
    params: ParamsFile,
    into: Annotated[Path, typer.Option(help="A new file NAME.zip.")],
    build: BuildFolder = None,
    clips: Annotated[
        bool, typer.Option(help="Add what a book is made of: clips, validation, steering.")
    ] = True,
) -> None:
    """Write answers, verdicts, model cards and clips as one zip file for others.

    'make book FROM=NAME.zip' makes a book of it. Answers to harmful utterances are in it, as they
    are stored.
    """
    from aor_lib.inference.exchange import export_results

    study, folder = study_of(params, build)
    bundle = export_results(study, folder, into, clips=clips)
    typer.echo(
        f"{into}: {len(bundle.trials)} trials of {len(bundle.cards)} models, "
        f"{len(bundle.responses)} responses, {len(bundle.verdicts)} verdicts"
    )


@app.command("import")
def import_(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE...", help="NAME.zip, or NAME.eval of inspect_ai")
    ],
    params: ParamsFile,
    build: BuildFolder = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Take only this model; may be given several times.")
    ] = None,
) -> None:
    """Add results on the same stimuli to a study's; its own answers are never replaced."""
    from aor_lib.inference.exchange import import_results
    from aor_lib.stimuli.manifest import MANIFEST

    study, folder = study_of(params, build)
    require(folder / MANIFEST, "aor data")
    for source in sources:
        done = import_results(source, study, folder, model or ())
        typer.echo(
            f"{source}: {', '.join(done.models)}: {done.trials} trials, {done.new} of them new; "
            f"{done.answered} responses added"
        )
        if done.left_out:
            typer.echo(
                f"{source}: {done.left_out} trials are left out: the study has not their stimuli",
                err=True,
            )
    typer.echo(f"'aor judge {params}' judges what the study's judge has not judged yet")


@app.command()
def forget(
    model: Annotated[str, typer.Argument(help="Id of the model.")],
    params: ParamsFile,
    build: BuildFolder = None,
) -> None:
    """Take what was imported of a model out of a study."""
    from aor_lib.inference.exchange import forget_model

    _, folder = study_of(params, build)
    typer.echo(f"{model}: {forget_model(model, folder)} imported trials are taken out")
