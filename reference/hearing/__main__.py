"""Train the sound tagger: ``python -m reference.hearing``."""

import os
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.audio.hearing import WEIGHTS
from aor_lib.storage.progress import progress
from reference.hearing import tagger_training


def main(into: Annotated[Path, typer.Option(help="File of the weights.")] = WEIGHTS) -> None:
    """Train the sound tagger: half an hour on two cores."""
    with progress("clips") as report:
        tagger_training.train(os.cpu_count() or 1, report, into)


if __name__ == "__main__":
    typer.run(main)
