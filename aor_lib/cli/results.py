"""Verbs that hand results on: to other machines, and from them."""

from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, require, study_of

app = typer.Typer(no_args_is_help=True, help="Share results between machines.")


@app.command("export")
def export_(
    params: ParamsFile,
    into: Annotated[Path, typer.Option(help="A new folder, or a file NAME.zip.")],
    build: BuildFolder = None,
) -> None:
    """Write answers, verdicts, model cards and hashes of the stimuli as a bundle for others.

    A zip file holds the clips as well: 'make book FROM=NAME.zip' makes a book of it.
    Answers to harmful utterances are in both, as they are stored.
    """
    from aor_lib.inference.bundles import export_results
    from aor_lib.report.archive import write_archive

    study, folder = study_of(params, build)
    write = write_archive if into.suffix == ".zip" else export_results
    bundle = write(study, folder, into)
    typer.echo(
        f"{into}: {len(bundle.trials)} trials of {len(bundle.cards)} models, "
        f"{len(bundle.responses)} responses, {len(bundle.verdicts)} verdicts"
    )


@app.command("import")
def import_(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Bundles.")],
    params: ParamsFile,
    build: BuildFolder = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Take only this model; may be given several times.")
    ] = None,
) -> None:
    """Add bundles of the same stimuli to a study's results; its own answers are never replaced."""
    from aor_lib.inference.bundles import import_results
    from aor_lib.stimuli.manifest import MANIFEST

    study, folder = study_of(params, build)
    require(folder / MANIFEST, "aor data")
    for bundle in folders:
        done = import_results(bundle, study, folder, model or ())
        typer.echo(
            f"{bundle}: {', '.join(done.models)}: {done.trials} trials, {done.new} of them new; "
            f"{done.answered} responses added"
        )
        if done.left_out:
            typer.echo(
                f"{bundle}: {done.left_out} trials are left out: the study has not their stimuli",
                err=True,
            )
    typer.echo(f"'aor judge {params}' judges what the study's judge has not judged yet")


@app.command("import-log")
def import_log(
    log: Annotated[Path, typer.Argument(metavar="LOG.eval", help="A log of inspect_ai.")],
    params: ParamsFile,
    build: BuildFolder = None,
    model: Annotated[
        str | None, typer.Option(help="The card of the answers; it must be the log's.")
    ] = None,
) -> None:
    """Add the answers in a log of inspect_ai's task aor_study to a study's results."""
    from aor_lib.config.records import Status
    from aor_lib.inference.bundles import add_bundle
    from aor_lib.inference.bundles.inspect_log import read_inspect_log
    from aor_lib.stimuli.manifest import MANIFEST

    study, folder = study_of(params, build)
    require(folder / MANIFEST, "aor data")
    bundle = read_inspect_log(log, study, folder, model)
    done = add_bundle(log, bundle, study, folder)
    answered = sum(response.status is Status.OK for response in bundle.responses)
    typer.echo(
        f"{log}: {', '.join(done.models)}: {len(bundle.responses)} of {done.trials} trials, "
        f"{len(bundle.responses) - answered} of them without an answer; "
        f"{done.answered} responses added"
    )
    typer.echo(f"'aor judge {params}' judges what the study's judge has not judged yet")


@app.command()
def forget(
    model: Annotated[str, typer.Argument(help="Id of the model.")],
    params: ParamsFile,
    build: BuildFolder = None,
) -> None:
    """Take what was imported of a model out of a study."""
    from aor_lib.inference.bundles import forget_model

    _, folder = study_of(params, build)
    typer.echo(f"{model}: {forget_model(model, folder)} imported trials are taken out")
