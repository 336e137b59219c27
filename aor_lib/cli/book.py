"""Verbs that make the report of a study and show it."""

from __future__ import annotations

import os
import threading
import time
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aor_lib.cli.make import record_state, study_stages
from aor_lib.cli.steps import (
    BuildFolder,
    ParamsFile,
    duration,
    progress,
    require,
    run_stages,
    study_of,
)

if TYPE_CHECKING:
    from aor_lib.config.params import Study

app = typer.Typer()

HTML = Path("build/html")
"""Link to the pages that were made last."""


@app.command()
def book(
    params: ParamsFile,
    build: BuildFolder = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A zip file of 'aor results export': no model is run."),
    ] = None,
) -> None:
    """Build the report: bring the study up to date, execute the notebooks and write the pages."""
    from aor_lib.report.book import ASK_MODELS, write_book

    began = time.monotonic()
    study, folder = study_of(params, build)
    unexecuted: Sequence[str] = ()
    if source is None:
        stages = study_stages(params, study, folder)
    else:
        folder = build or Path("build/from") / study.profile.name
        stages = [(f"results of {source.name}", partial(_unpack, source, study, folder))]
        unexecuted = ASK_MODELS
    run_stages(
        [
            *stages,
            ("notebooks", partial(_execute, folder, unexecuted)),
            ("pages", partial(write_book, folder)),
        ]
    )
    _say_where(folder, began)


@app.command()
def serve(
    html: Annotated[Path, typer.Option(help="Folder of the pages.")] = HTML,
    port: Annotated[int, typer.Option(help="Of this machine.")] = 8000,
) -> None:
    """Serve the report that was made last on this machine, and open it in a browser."""
    require(html / "index.html", "aor book")
    handler = partial(_QuietHandler, directory=str(html.resolve()))
    address = f"http://127.0.0.1:{port}"
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        typer.echo(f"The book is at {address} until you press Ctrl-C")
        # From a thread: a browser in the terminal would wait for the server, which waits for it.
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.serve_forever()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


def _unpack(source: Path, study: Study, folder: Path) -> None:
    from aor_lib.report.archive import unpack_archive

    trials = unpack_archive(source, study, folder)
    record_state(folder, study.profile.judge)
    typer.echo(f"{trials:,} trials of {source} are in {folder}")


def _execute(folder: Path, unexecuted: Sequence[str]) -> None:
    from aor_lib.report.book import execute_notebooks

    with progress("notebooks") as report:
        count = execute_notebooks(folder, report, unexecuted=unexecuted)
    typer.echo(f"Notebooks executed: {count}; every other one is current")
    if unexecuted:
        typer.echo(f"Tutorials that run a model are shown without output: {', '.join(unexecuted)}")


def _say_where(folder: Path, began: float) -> None:
    """Link to the pages, and print where they are."""
    first = folder / "html" / "index.html"
    HTML.parent.mkdir(exist_ok=True)
    HTML.unlink(missing_ok=True)
    HTML.symlink_to(os.path.relpath(first.parent, HTML.parent))
    took = duration(time.monotonic() - began)
    typer.echo(f"The book is {first}, after {took}: open it, or run 'make serve'")
