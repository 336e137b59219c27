"""Verbs that finish a study: bring it up to date, make its report and show it."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aor_lib.cli.answers import load_models, run
from aor_lib.cli.data import WORKERS, data, validate
from aor_lib.cli.judging import judge
from aor_lib.cli.steering import steer
from aor_lib.cli.steps import BuildFolder, ParamsFile, progress, require, study_of

if TYPE_CHECKING:
    from aor_lib.config.params import StudyParams

app = typer.Typer()

Stage = tuple[str, Callable[[], object]]
"""Title of a step of a study, and what does it."""

HTML = Path("build/html")
"""Link to the pages that were made last."""


@app.command()
def make(params: ParamsFile, build: BuildFolder = None) -> None:
    """Bring a study up to date: data, validate, run, judge and steer, each only where needed."""
    study, folder = study_of(params, build)
    run_stages(_study_stages(params, study, folder))


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
        stages = _study_stages(params, study, folder)
    else:
        folder = build or Path("build/from") / study.profile.name
        stages = [(f"results of {source.name}", partial(_unpack, source, study, folder))]
        unexecuted = ASK_MODELS
    stages.append(("notebooks", partial(_execute, folder, unexecuted)))
    stages.append(("pages", partial(write_book, folder)))
    run_stages(stages)
    HTML.parent.mkdir(exist_ok=True)
    HTML.unlink(missing_ok=True)
    HTML.symlink_to(os.path.relpath(folder / "html", HTML.parent))
    first, took = folder / "html" / "index.html", _duration(time.monotonic() - began)
    typer.echo(f"The book is {first}, after {took}: open it, or run 'make serve'")


@app.command()
def serve(
    html: Annotated[Path, typer.Option(help="Folder of the pages.")] = HTML,
    port: Annotated[int, typer.Option(help="Port to serve on.")] = 8000,
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


def run_stages(stages: Sequence[Stage]) -> None:
    """Run stages in their order; print the title of each, its time, and which are left."""
    titles = [title for title, _ in stages]
    for number, (title, stage) in enumerate(stages, start=1):
        typer.echo(f"{number} of {len(stages)}: {title}")
        began = time.monotonic()
        stage()
        left = f"; left: {', '.join(titles[number:])}" if titles[number:] else ""
        typer.echo(f"    {title} took {_duration(time.monotonic() - began)}{left}")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _study_stages(params: Path, study: StudyParams, folder: Path) -> list[Stage]:
    from aor_lib.models.base import ModelError

    _, unable = load_models(study.models)
    if unable:  # said before hours are spent on stimuli
        more = f" (and {len(unable) - 1} more models)" if len(unable) > 1 else ""
        raise ModelError(f"{unable[0]}{more}; 'aor models list' says what each needs")

    def steering() -> None:
        steer(params, folder)
        _record_state(folder, study.profile.judge)

    return [
        ("stimuli", partial(data, params, folder, WORKERS)),
        ("validation", partial(validate, params, folder, WORKERS)),
        ("answers", partial(run, params, folder)),
        ("verdicts", partial(judge, params, build=folder)),
        ("steering", steering),
    ]


def _record_state(folder: Path, judge_id: str) -> None:
    """Write the file that changes exactly when something that pages show does."""
    import pandas as pd

    from aor_lib.analysis.results import load_results
    from aor_lib.stimuli.manifest import VALIDATION
    from aor_lib.storage.atomic_write import atomic_write
    from aor_lib.storage.progress import STATE

    digest = hashlib.sha256()
    results = load_results(folder, judge_id)
    digest.update(pd.util.hash_pandas_object(results, index=False).to_numpy().tobytes())
    for path in [folder / VALIDATION, *sorted((folder / "steering").glob("*.parquet"))]:
        digest.update(path.read_bytes())
    state = f"{digest.hexdigest()}\n"
    path = folder / STATE
    if not path.is_file() or path.read_text(encoding="ascii") != state:
        with atomic_write(path) as stream:
            stream.write(state.encode())


def _unpack(source: Path, study: StudyParams, folder: Path) -> None:
    from aor_lib.report.archive import unpack_archive

    trials = unpack_archive(source, study, folder)
    _record_state(folder, study.profile.judge)
    typer.echo(f"{trials:,} trials of {source} are in {folder}")


def _execute(folder: Path, unexecuted: Sequence[str]) -> None:
    from aor_lib.report.book import execute_notebooks

    with progress("notebooks") as report:
        count = execute_notebooks(folder, report, unexecuted=unexecuted)
    typer.echo(f"Notebooks executed: {count}; every other one is current")
    if unexecuted:
        typer.echo(f"Tutorials that run a model are shown without output: {', '.join(unexecuted)}")
