"""Build the book of a study: bring it up to date, execute its notebooks and write the pages.

``make book`` calls it, as in ``python -m book._ext.build params/laptop.yaml``.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aor_lib.cli.make import duration, record_state, run_stages, stages
from aor_lib.cli.steps import BuildFolder, ParamsFile, study_of
from aor_lib.config.params import PARAMS, StudyParams
from aor_lib.config.typed_yaml import AorError, one_line, read
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import STATE, progress

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

ROOT = PARAMS.parent
HTML = Path("build/html")
"""Link to the pages that were made last."""
ASK_MODELS = ("add_a_model", "make_a_clip", "steer_a_model")
"""Tutorials that load models and do not only read what they answered."""

_KERNELS = 2
"""Each executes many notebooks, since one takes as long to start as a chapter to run."""
_ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "AOR_CLIPS_URL": "clips"}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class BookError(AorError):
    """A page that cannot be made; the message names it, and what it printed was shown."""


@app.command()
def book(
    params: ParamsFile,
    build: BuildFolder = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A zip file of 'aor export': no model is run."),
    ] = None,
) -> None:
    """Bring a study up to date, execute the notebooks that are stale and write the pages."""
    began = time.monotonic()
    study, folder = study_of(params, build)
    unexecuted: Sequence[str] = ()
    if source is None:
        steps = stages(params, study, folder)
    else:
        folder = build or Path("build/from") / study.profile.name
        steps = [(f"results of {source.name}", partial(_unpack, source, study, folder))]
        unexecuted = ASK_MODELS
    steps.append(("notebooks", partial(execute_notebooks, folder, unexecuted=unexecuted)))
    steps.append(("pages", partial(write_pages, folder)))
    run_stages(steps)
    HTML.parent.mkdir(exist_ok=True)
    HTML.unlink(missing_ok=True)
    HTML.symlink_to(os.path.relpath(folder / "html", HTML.parent))
    first, took = folder / "html" / "index.html", duration(time.monotonic() - began)
    typer.echo(f"The book is {first}, after {took}: open it, or run 'make serve'")


def execute_notebooks(
    build: Path, notebooks: Path = ROOT / "notebooks", unexecuted: Sequence[str] = ()
) -> int:
    """Execute the notebooks that are older than the study, the library or their source.

    They are kept in the folder ``notebooks`` of the study.

    Parameters
    ----------
    build
        Folder of the study.
    notebooks
        Folder of the notebooks.
    unexecuted
        Names of notebooks to show without outputs.

    Returns
    -------
    int
        Number of notebooks executed.

    Raises
    ------
    BookError
        If a cell fails; then no other notebook begins.
    """
    (build / "notebooks").mkdir(exist_ok=True)
    for name in unexecuted:
        shutil.copyfile(notebooks / f"{name}.ipynb", build / "notebooks" / f"{name}.ipynb")
    stale = [path for path in _stale(build, notebooks) if path.stem not in unexecuted]
    stale.sort(key=lambda path: path.stem not in ASK_MODELS)  # the longest ones first
    waiting, done = iter(stale), itertools.count(1)

    def execute(kernel: AsyncKernelManager) -> None:
        for path in waiting:
            _execute(build, path, kernel)
            report(next(done), len(stale))

    with (
        progress("notebooks") as report,
        ThreadPoolExecutor(_KERNELS) as threads,
        ExitStack() as kernels,
    ):
        started = [kernels.enter_context(_kernel(notebooks)) for _ in stale[:_KERNELS]]
        try:
            for executed in as_completed([threads.submit(execute, one) for one in started]):
                executed.result()
        except BookError as error:  # of the first that failed; the other kernel is stopped
            print(error.__cause__, file=sys.stderr)
            raise
        finally:
            for _ in waiting:  # after a failure, or at Ctrl-C, no other begins
                pass
    typer.echo(f"Notebooks executed: {len(stale)}; every other one is current")
    if unexecuted:
        typer.echo(f"Tutorials that run a model are shown without output: {', '.join(unexecuted)}")
    return len(stale)


def write_pages(build: Path) -> None:
    """Make the pages of executed notebooks and of the folder ``book``, unless they are current.

    A warning of jupyter-book is an error. The pages that were there before stay until all new ones
    are made.

    Parameters
    ----------
    build
        Folder of the study.

    Raises
    ------
    BookError
        If a page cannot be made.
    """
    html, vendored = build / "html", PARAMS / "web_assets.yaml"
    texts = [ROOT / "CHANGELOG.md", ROOT / "CITATION.bib", vendored]
    executed = sorted((build / "notebooks").glob("*.ipynb"))
    cards = _files(PARAMS / "models")
    sources = [*_files(ROOT / "book"), *executed, *texts, *cards, build / STATE]
    if _changed(html / "index.html") >= max(map(_changed, sources)):
        return
    from aor_lib.storage.assets import Assets, fetch
    from book._ext.explorer import write_data

    folder = build / "book"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "book", folder)
    for path in executed:
        shutil.copyfile(path, folder / path.name)
    shutil.copyfile(ROOT / "CHANGELOG.md", folder / "changelog.md")
    shutil.copyfile(ROOT / "CITATION.bib", folder / "citation.bib")
    _run("jupyter-book", "build", "-W", "--keep-going", "--quiet", str(folder))
    made = folder / "_build" / "html"
    for asset in read(vendored, Assets).assets:
        folder = fetch(asset.id, vendored)
        shutil.copytree(folder, made / "_static" / "vendor", dirs_exist_ok=True)
    write_data(build, made / "explorer")
    shutil.copytree(build / "clips", made / "clips")
    shutil.rmtree(html, ignore_errors=True)
    made.rename(html)


def _unpack(source: Path, study: StudyParams, folder: Path) -> None:
    from aor_lib.inference.exchange import unpack_study

    trials = unpack_study(source, study, folder)
    record_state(folder, study.profile.judge)
    typer.echo(f"{trials:,} trials of {source} are in {folder}")


def _stale(build: Path, notebooks: Path) -> list[Path]:
    """Notebooks to execute, as `make` would find them."""
    inputs = [*_files(ROOT / "aor_lib"), *notebooks.glob("*.py")]
    inputs += [build / STATE, *_files(build / "labels")]
    shared = max(map(_changed, inputs))
    return [
        source
        for source in sorted(notebooks.glob("*.ipynb"))
        if _changed(build / "notebooks" / source.name) < max(shared, _changed(source))
    ]


def _execute(build: Path, source: Path, kernel: AsyncKernelManager) -> None:
    """Execute a notebook into the study's folder, where it appears whole."""
    import papermill
    from nbformat import v4

    new_code_cell: Any = v4.new_code_cell  # untyped
    notebook = papermill.iorw.load_notebook_node(str(source))
    # The kernel has executed others; what they left there is not for this one.
    notebook.cells.insert(0, new_code_cell("%reset -f", metadata={"tags": []}))
    known = papermill.inspect_notebook(str(source))
    parameters = {"build": os.path.relpath(build, source.parent)} if "build" in known else {}
    try:
        notebook = papermill.execute_notebook(
            notebook, None, parameters, progress_bar=False, km=kernel
        )
    except Exception as error:  # a kernel may fail or die in any way
        raise BookError(f"{source.stem}: papermill failed, as it says above") from error
    del notebook.cells[0]
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if "injected-parameters" in tags:
            tags.append("remove-cell")  # they are for the build, not for the reader
    with atomic_write(build / "notebooks" / source.name) as stream:
        stream.write(json.dumps(notebook, indent=1).encode())


@contextmanager
def _kernel(folder: Path) -> Iterator[AsyncKernelManager]:
    """A kernel of one thread in a folder; what it prints beside its cells is dropped."""
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_core.utils import run_sync

    kernel = AsyncKernelManager(kernel_name="python3")
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run_sync(kernel.start_kernel)(cwd=str(folder), env=_ENVIRONMENT, **silent)
    try:
        yield kernel
    finally:
        run_sync(kernel.shutdown_kernel)(now=True)


def _run(program: str, *arguments: str) -> None:
    """Run a program of this environment, silently unless it fails."""
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=_ENVIRONMENT, check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise BookError(f"the book: {program} failed, as it says above")


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def _changed(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


if __name__ == "__main__":
    try:
        app()
    except (AorError, OSError) as error:
        sys.exit(f"make book: error: {one_line(error)}")
