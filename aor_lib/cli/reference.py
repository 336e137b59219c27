"""The verb that trains what the reference models hear with."""

import os
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import progress

app = typer.Typer()


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
