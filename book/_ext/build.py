"""Build the book of a study: update the study, execute the notebooks and write the pages.

``make book`` runs this module, as in ``python -m book._ext.build params/laptop.yaml``.
"""

from __future__ import annotations

import signal

if __name__ == "__main__":  # Ctrl-C ends it silently, even while modules are being imported
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer
from filelock import FileLock, Timeout
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync

from aor_lib.cli.make import run_stages, stages
from aor_lib.cli.steps import BuildFolder, ParamsFile, run_app, study_of
from aor_lib.config.params import PARAMS, StudyParams
from aor_lib.config.records import content_hash
from aor_lib.config.typed_yaml import AorError, read
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import finished, progress, up_to_date
from book._ext.unpacking import replace_folder, unpack_study

ROOT = PARAMS.parent
STATE = "study.sha256"
"""File in a study's folder that changes exactly when the data shown in the book change."""
ASK_MODELS = ("add_a_model", "make_a_clip", "steer_a_model")
"""Tutorials that run models instead of only reading stored answers."""
FETCHED = {"aor_bench": ROOT / "build" / "aor_bench" / "results.sqlite"}
"""Chapters about clips that may not be redistributed, each with its optional file of answers."""

VENDORED = PARAMS / "web_assets.yaml"
"""Listing of the scripts that pages load."""

_STEERED = "ref-contextual"  # the model that steer_a_model steers
_ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "AOR_CLIPS_URL": "clips"}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class BookError(AorError):
    """Error for a page that cannot be built; the message names it, and its output was printed."""


@app.command()
def book(
    params: ParamsFile,
    build: BuildFolder = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A zip file of 'aor export': no model is run."),
    ] = None,
) -> None:
    """Bring a study up to date, execute the stale notebooks and write the pages."""
    began = time.monotonic()
    study, folder = study_of(params, build)
    unexecuted = [name for name, answers in FETCHED.items() if not answers.is_file()]
    if _STEERED not in study.profile.models:
        unexecuted.append("steer_a_model")
    if source is None:
        steps = stages(params, study, folder)
    else:
        folder = build or Path("build/from") / study.profile.name
        steps = [(f"results of {source.name}", partial(_unpack, source, study, folder))]
        unexecuted += ASK_MODELS
    steps.append(("state", partial(record_state, folder, study.profile.judge)))
    steps.append(("notebooks", partial(execute_notebooks, folder, unexecuted=unexecuted)))
    steps.append(("pages", partial(write_pages, folder)))
    with one_at_a_time(folder):
        run_stages(steps)
        link_to(folder / "html")
    first, took = folder / "html" / "index.html", timedelta(seconds=round(time.monotonic() - began))
    typer.echo(f"The book is {first}, after {took}: open it")


def fetch_all() -> None:
    """Fetch all that a book is built with, so that it can then be built offline."""
    from aor_lib.models.smollm_weights import load
    from aor_lib.storage.assets import WEIGHTS, Assets, fetch

    listed = [
        (path, asset.id) for path in (WEIGHTS, VENDORED) for asset in read(path, Assets).assets
    ]
    with ThreadPoolExecutor(4) as threads:
        for fetched in [threads.submit(fetch, name, path) for path, name in listed]:
            fetched.result()
    load()


def record_state(folder: Path, judge_id: str) -> None:
    """Write a hash of the data that the book shows to :data:`STATE`."""
    import pandas as pd

    from aor_lib.analysis.results import load_cards, load_provenance, load_trials
    from aor_lib.inference.store import open_results
    from aor_lib.stimuli.manifest import MANIFEST, VALIDATION

    rows = pd.util.hash_pandas_object(load_trials(folder, judge_id), index=False)
    digest = sha256(rows.to_numpy().tobytes())
    digest.update(load_provenance(folder).to_json().encode())
    with open_results(folder) as store:  # a page may show another judge's verdicts
        for verdict in sorted(verdict.model_dump_json() for verdict in store.verdicts()):
            digest.update(verdict.encode())
    for card in load_cards(folder).values():
        digest.update(card.model_dump_json().encode())
    steering = sorted((folder / "steering").glob("*.parquet"))
    for path in [folder / MANIFEST, folder / VALIDATION, *steering]:
        digest.update(path.read_bytes())
    (folder / STATE).write_text(digest.hexdigest())


def one_at_a_time(build: Path) -> AbstractContextManager[object]:
    """Lock a folder for one build; print a message and wait while another build holds it."""
    build.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(build.parent / f".{build.name}.lock")  # not in it: --from replaces the folder
    try:
        return lock.acquire(blocking=False)
    except Timeout:
        typer.echo(f"Another build of {build} is under way: waiting for it to end", err=True)
        return lock.acquire()


def link_to(html: Path, link: Path = Path("build/html")) -> None:
    """Point the link to the newest pages at a folder, atomically."""
    link.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=link.parent, prefix=".") as scratch:
        (other := Path(scratch) / "link").symlink_to(os.path.relpath(html, link.parent))
        other.replace(link)


def execute_notebooks(
    build: Path, notebooks: Path = ROOT / "notebooks", unexecuted: Sequence[str] = ()
) -> int:
    """Execute the notebooks whose source, study, library or parameters changed.

    Executed copies are kept in the study's folder ``notebooks``; copies of removed notebooks are
    deleted, and notebooks named in ``unexecuted`` are copied without outputs. Returns the number
    executed. BookError if a cell fails; no further notebook is then started.
    """
    (build / "notebooks").mkdir(exist_ok=True)
    made_from = _made_from(build, notebooks, unexecuted)
    for copy in (build / "notebooks").glob("*.ipynb"):
        if copy.name not in made_from:
            copy.unlink()
    stale = [
        notebooks / name
        for name, parts in made_from.items()
        if not (build / "notebooks" / name).is_file()
        or not up_to_date(build, f"notebook-{name}", parts)
    ]
    for path in [path for path in stale if path.stem in unexecuted]:
        shutil.copyfile(path, build / "notebooks" / path.name)
        finished(build, f"notebook-{path.name}", made_from[path.name])
        stale.remove(path)
    stale.sort(key=lambda path: path.stem not in ASK_MODELS)  # the longest notebooks first
    waiting, done = deque(stale), itertools.count(1)

    def execute(kernel: AsyncKernelManager, take: Callable[[], Path]) -> None:
        for path in _until_empty(take):
            _execute(build, path, kernel)
            finished(build, f"notebook-{path.name}", made_from[path.name])
            report(next(done), len(stale))

    with (
        progress("notebooks") as report,
        ThreadPoolExecutor() as threads,
        ExitStack() as kernels,
    ):
        # Two kernels, since starting one takes as long as a chapter. They take notebooks from both
        # ends, so that one alone loads models.
        ends = (waiting.popleft, waiting.pop)[: len(stale)]
        started = [(kernels.enter_context(_kernel(notebooks)), take) for take in ends]
        try:
            for executed in as_completed([threads.submit(execute, *one) for one in started]):
                executed.result()
        except BookError as error:  # from the first failure; the other kernel is stopped
            print(error.__cause__, file=sys.stderr)
            raise
        finally:
            waiting.clear()  # after a failure or Ctrl-C, start no further notebook
    typer.echo(f"Notebooks executed: {len(stale)}; every other one is current")
    if unexecuted:
        typer.echo(f"Pages without output, as it takes models or clips: {', '.join(unexecuted)}")
    return len(stale)


def _until_empty(take: Callable[[], Path]) -> Iterator[Path]:
    try:
        while True:
            yield take()
    except IndexError:
        return


def write_pages(build: Path) -> None:
    """Build the pages from executed notebooks and the folder ``book``, unless they are current.

    The previous pages stay in place until all new pages are built. BookError if a page cannot be
    built; a warning from jupyter-book counts as an error.
    """
    html = build / "html"
    executed = sorted((build / "notebooks").glob("*.ipynb"))
    texts = [ROOT / "CHANGELOG.md", ROOT / "reference" / "rates.csv"]
    sources = [*_files(ROOT / "book"), *executed, *texts, *_shared(build)]
    made_from = [_digest(sources), os.environ.get("SITE_URL")]
    if html.is_dir() and up_to_date(build, "html", made_from):
        return
    import aor_lib as aor
    from aor_lib.storage.assets import Assets, fetch
    from book._ext.clip_links import shortened
    from book._ext.clip_pages import write_clip_pages
    from book._ext.explorer import write_data

    folder = build / "book"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "book", folder)
    trials = aor.open(build).trials
    for path in executed:
        (folder / path.name).write_text(shortened(path.read_text("utf-8"), trials), "utf-8")
    shutil.copyfile(ROOT / "CHANGELOG.md", folder / "changelog.md")
    shutil.copyfile(ROOT / "CITATION.bib", folder / "citation.bib")
    made = folder / "_build" / "html"
    with ThreadPoolExecutor(1) as thread:
        pages = thread.submit(
            _run, "jupyter-book", "build", "-W", "--keep-going", "--quiet", folder
        )
        write_data(build, made.with_name("explorer"))
        write_clip_pages(build, made.with_name("clip"))
        pages.result()
    for asset in read(VENDORED, Assets).assets:
        vendor = made / "_static" / "vendor"
        shutil.copytree(fetch(asset.id, VENDORED), vendor, dirs_exist_ok=True)
    for name in ("explorer", "clip"):
        made.with_name(name).rename(made / name)
    shutil.copytree(build / "clips", made / "clips", ignore=shutil.ignore_patterns(".*"))
    replace_folder(made, html)
    finished(build, "html", made_from)


def _unpack(source: Path, study: StudyParams, folder: Path) -> None:
    trials = unpack_study(source, study, folder)
    typer.echo(f"{trials:,} trials of {source} are in {folder}")


def _made_from(build: Path, notebooks: Path, unexecuted: Sequence[str]) -> dict[str, list[object]]:
    """Inputs that can change an executed notebook, by the name of the notebook's file."""
    tables = [*(ROOT / "benchmarks").glob("*.csv"), ROOT / "reference/judge/blind_tests.csv"]
    shared = _digest([*_shared(build), *_files(build / "labels"), *notebooks.glob("*.py"), *tables])
    fetched = {name: [answers] for name, answers in FETCHED.items() if name not in unexecuted}
    return {
        path.name: [shared, _digest([path, *fetched.get(path.stem, [])]), path.stem in unexecuted]
        for path in sorted(notebooks.glob("*.ipynb"))
    }


def _shared(build: Path) -> list[Path]:
    texts = [*ROOT.glob("CITATION.*"), ROOT / "requirements" / "lock.txt"]
    return [*_files(ROOT / "aor_lib"), *_files(PARAMS), *texts, build / STATE]


def _digest(files: Iterable[Path]) -> str:
    # By relative paths, so that a clone that was moved or copied is not stale.
    digests = {os.path.relpath(p, ROOT): sha256(p.read_bytes()).hexdigest() for p in files}
    return content_hash(digests)


def _execute(build: Path, source: Path, kernel: AsyncKernelManager) -> None:
    """Execute a notebook and write the executed copy to the study's folder atomically."""
    import papermill
    from nbformat import v4

    new_code_cell: Any = v4.new_code_cell  # untyped
    notebook = papermill.iorw.load_notebook_node(str(source))
    # The kernel has executed other notebooks, whose variables must not leak into this one.
    notebook.cells.insert(0, new_code_cell("%reset -f", metadata={"tags": []}))
    known = papermill.inspect_notebook(str(source))
    parameters = {"build": os.path.relpath(build, source.parent)} if "build" in known else {}
    try:
        notebook = papermill.execute_notebook(
            notebook, None, parameters, progress_bar=False, km=kernel
        )
    except Exception as error:  # a kernel may fail or die in any way
        raise BookError(f"{source.stem}: papermill failed; see its error above") from error
    del notebook.cells[0]
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if "injected-parameters" in tags:
            tags.append("remove-cell")  # for the build, not for the reader
    with atomic_write(build / "notebooks" / source.name) as stream:
        stream.write(json.dumps(notebook, indent=1).encode())


@contextmanager
def _kernel(folder: Path) -> Iterator[AsyncKernelManager]:
    """Start a single-threaded kernel in a folder; its output outside cells is discarded."""
    kernel = AsyncKernelManager(kernel_name="python3")
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run_sync(kernel.start_kernel)(cwd=str(folder), env=_ENVIRONMENT, **silent)
    try:
        yield kernel
    finally:
        run_sync(kernel.shutdown_kernel)(now=True)


def _run(program: str, *arguments: str | Path) -> None:
    """Run a program of this environment; print its output only if it fails."""
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    path = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]  # to find extensions
    environment = _ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise BookError(f"the book: {program} failed; see its output above")


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


if __name__ == "__main__":
    run_app(app, "make book")
