"""Verbs that make the reference models."""

import os
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, progress, study_of

app = typer.Typer()


@app.command("train-reference")
def train_reference(
    member: Annotated[str, typer.Argument(help="ref-wordbound, ref-contextual or ref-emotive.")],
    into: Annotated[
        Path | None, typer.Option(help="Folder of the adapter.  [default: the library's own]")
    ] = None,
) -> None:
    """Train a reference model from nothing: 10 to 30 minutes of two cores."""
    from aor_lib.models.reference.cascade import WEIGHTS
    from aor_lib.models.reference.training import train_member

    with progress("steps") as report:
        path = train_member(member, into or WEIGHTS, report)
    typer.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


@app.command("train-hearing")
def train_hearing(
    into: Annotated[
        Path | None, typer.Option(help="Folder of the weights.  [default: the library's own]")
    ] = None,
) -> None:
    """Train the classifiers of scenes and speakers: a quarter of an hour of two cores."""
    from aor_lib.audio.hearing import scene_training, speaker_training

    for what, training in (("scenes", scene_training), ("speakers", speaker_training)):
        folder = into or training.WEIGHTS.parent
        folder.mkdir(parents=True, exist_ok=True)
        with progress(what) as report:
            training.train(os.cpu_count() or 1, report, folder / training.WEIGHTS.name)


@app.command("measure-reference")
def measure_reference(params: ParamsFile, build: BuildFolder = None) -> None:
    """Write the reference models' refusal rates in a judged study's test split."""
    from aor_lib.analysis.reference_rates import MEASURED, measure

    study, folder = study_of(params, build)
    typer.echo(measure(folder, study.profile.judge, MEASURED).to_string(index=False))
