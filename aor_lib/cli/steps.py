"""Arguments and steps that the verbs share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from aor_lib.config.params import StudyParams

ParamsFile = Annotated[Path, typer.Argument(help="A profile, such as params/smoke.yaml.")]
BuildFolder = Annotated[
    Path | None, typer.Option("--build", help="Folder of the study.  [default: build/PROFILE]")
]


def study_of(params: Path, build: Path | None) -> tuple[StudyParams, Path]:
    """Read a profile's study, and name its folder."""
    from aor_lib.config.params import load_study

    study = load_study(params)
    return study, build or Path("build") / study.profile.name


def progress(title: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """Show progress under a title; see :func:`aor_lib.storage.progress.progress`."""
    from aor_lib.storage import progress as bars

    return bars.progress(title)


def require(path: Path, verb: str) -> None:
    """Refuse to go on without the file that another verb makes."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; run '{verb}' first")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show rows of text to a person."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column == columns[0])  # names are there to be copied
    for row in rows:
        table.add_row(*map(Text, row))  # what a model said is not markup
    # A file or a pipe has no width of its own.
    Console(width=None if sys.stdout.isatty() else 100).print(table)
