"""Arguments and steps that the verbs share."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.config.params import StudyParams, load_study

ParamsFile = Annotated[Path, typer.Argument(help="A profile, such as params/smoke.yaml.")]
BuildFolder = Annotated[
    Path | None, typer.Option("--build", help="Folder of the study.  [default: build/PROFILE]")
]


def study_of(params: Path, build: Path | None) -> tuple[StudyParams, Path]:
    """Read a profile's study, and name its folder."""
    study = load_study(params)
    return study, build or Path("build") / study.profile.name


def print_table(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    """Print rows, wrapped to the width of the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*map(str, columns), box=None, pad_edge=False)
    table.columns[0].no_wrap = True  # names are there to be copied
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))  # what a model said is not markup
    # A file or a pipe has no width of its own.
    Console(width=None if sys.stdout.isatty() else 100).print(table)
