"""Training of the scene classifier and the sound tagger: ``python -m reference.hearing``."""

import os
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.audio.hearing.scene_classifier import SCENE_WEIGHTS, TAGGER_WEIGHTS
from aor_lib.storage.progress import progress
from reference.hearing import scene_training, tagger_training


def main(
    into: Annotated[Path, typer.Option(help="Folder of the weights.")] = TAGGER_WEIGHTS.parent,
) -> None:
    """Train the scene classifier and the sound tagger: half an hour of two cores."""
    into.mkdir(parents=True, exist_ok=True)
    for train, name in (
        (scene_training.train, SCENE_WEIGHTS.name),
        (tagger_training.train, TAGGER_WEIGHTS.name),
    ):
        with progress(f"clips for {name}") as report:
            train(os.cpu_count() or 1, report, into / name)


if __name__ == "__main__":
    typer.run(main)
