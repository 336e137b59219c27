"""Arguments and helpers that the commands share."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aor_lib.config.params import StudyParams, load_study
from aor_lib.config.typed_yaml import AorError, one_line

if TYPE_CHECKING:
    import pandas as pd

ParamsFile = Annotated[Path, typer.Argument(help="A profile, such as params/smoke.yaml.")]
BuildFolder = Annotated[
    Path | None, typer.Option("--build", help="Folder of the study (default: build/PROFILE).")
]


def study_of(params: Path, build: Path | None) -> tuple[StudyParams, Path]:
    """Read a profile, and return its parameters and the study's folder."""
    study = load_study(params)
    return study, build or Path("build") / study.profile.name


def run_app(app: typer.Typer, name: str) -> None:
    """Run a command; report a user's error in one line, and end within a second of Ctrl-C."""
    signal.signal(signal.SIGINT, _end)
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")  # it outlives this process
    try:
        app()
    except (AorError, OSError) as error:
        from aor_lib.storage.assets import cache_folder

        path, remedy = getattr(error, "filename", None), ""
        if path and Path(path).is_relative_to(cache_folder()):
            remedy = "; set AOR_CACHE to a folder that can be written"
        print(f"{name}: error: {one_line(error)}{remedy}", file=sys.stderr)
        sys.exit(1)


def _end(*_: object) -> None:
    # What is finished is stored, and threads are not waited for: their later errors are no news.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.excepthook = lambda *_: None
    threading.excepthook = lambda _: None
    threading.Timer(0.5, os._exit, [130]).start()
    raise KeyboardInterrupt


def print_table(rows: "pd.DataFrame") -> None:
    """Print rows as a table, wrapped to the width of the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*rows.columns, box=None, pad_edge=False)
    table.columns[0].no_wrap = True  # names are there to be copied
    for row in rows.itertuples(index=False):
        table.add_row(*(Text(str(cell)) for cell in row))  # what a model said is not markup
    # A file or a pipe has no width of its own.
    Console(width=None if sys.stdout.isatty() else 100).print(table)
