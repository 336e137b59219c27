"""Verbs that make the reference models."""

import os
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import progress, study_of

app = typer.Typer()


@app.command("train-reference")
def train_reference(
    member: Annotated[
        str, typer.Argument(help="ref-wordbound, ref-contextual, ref-emotive or ref-lulled.")
    ],
    into: Annotated[
        Path | None, typer.Option(help="Folder of the adapter.  [default: the library's own]")
    ] = None,
) -> None:
    """Train a reference model: up to half an hour of two cores; ref-contextual after ref-lulled."""
    from aor_lib.models.reference.cascade import WEIGHTS
    from aor_lib.models.reference.training import train_member

    with progress("clips, then steps") as report:
        path = train_member(member, into or WEIGHTS, os.cpu_count() or 1, report)
    typer.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


@app.command("train-hearing")
def train_hearing(
    into: Annotated[
        Path | None, typer.Option(help="Folder of the weights.  [default: the library's own]")
    ] = None,
) -> None:
    """Train the classifier of scenes, and the ear: half an hour of two cores."""
    from aor_lib.audio.hearing import ear, ear_training, scene_classifier, scene_training

    folder = into or ear.WEIGHTS.parent
    folder.mkdir(parents=True, exist_ok=True)
    for train, name in (
        (scene_training.train, scene_classifier.WEIGHTS.name),
        (ear_training.train, ear.WEIGHTS.name),
    ):
        with progress(f"clips for {name}") as report:
            train(os.cpu_count() or 1, report, folder / name)


@app.command("measure-reference")
def measure_reference(
    params: Annotated[list[Path], typer.Argument(help="Profiles of judged studies.")],
) -> None:
    """Write the reference models' refusal rates in judged studies' test splits."""
    from aor_lib.analysis.reference_rates import MEASURED, measure

    studies = [study_of(path, None) for path in params]
    judge = studies[0][0].profile.judge
    measured = measure([folder for _, folder in studies], judge, MEASURED)
    typer.echo(measured.to_string(index=False))
