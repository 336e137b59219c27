"""The book of a study: its notebooks executed where they are stale, and the pages made of them."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import AorError
from aor_lib.storage.assets import copy_files
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import STATE

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

ROOT = PARAMS.parent
ASK_MODELS = ("add_a_model", "make_a_clip", "steer_a_model")
"""Tutorials that load models and do not only read what they said."""
_PEOPLE_ANSWER = ("listen", "label_answers")
_AT_ONCE = 2
"""Kernels; each executes many notebooks, since one takes as long to start as a chapter to run."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}


class BookError(AorError):
    """A page that cannot be made; the message names it, and what it printed was shown."""


def execute_notebooks(
    build: Path,
    report: Callable[[int, int], None],
    notebooks: Path = ROOT / "notebooks",
    unexecuted: Sequence[str] = (),
) -> int:
    """Execute the notebooks that are older than the study, the library or their source.

    They are kept in the folder ``notebooks`` of the study; those that are ``unexecuted`` are taken
    as they are, without outputs. What a notebook printed is shown if a cell fails, and never
    otherwise. Returns the number of notebooks executed.
    """
    (build / "notebooks").mkdir(exist_ok=True)
    for name in unexecuted:
        shutil.copyfile(notebooks / f"{name}.ipynb", build / "notebooks" / f"{name}.ipynb")
    stale = [path for path in _stale(build, notebooks) if path.stem not in unexecuted]
    stale.sort(key=lambda path: path.stem not in ASK_MODELS)  # the longest ones first
    report(0, len(stale))
    waiting, done = iter(stale), itertools.count(1)

    def execute(kernel: "AsyncKernelManager", printed: IO[str]) -> None:
        for path in waiting:
            _execute(build, path, kernel, printed)
            report(next(done), len(stale))

    with ThreadPoolExecutor(_AT_ONCE) as threads, ExitStack() as kernels:
        started = [kernels.enter_context(_kernel()) for _ in stale[:_AT_ONCE]]
        try:
            for executed in as_completed([threads.submit(execute, *one) for one in started]):
                executed.result()
        finally:
            for _ in waiting:  # after a failure, or at Ctrl-C, no other begins
                pass
    return len(stale)


def write_book(build: Path) -> Path:
    """Make the pages of executed notebooks and of the folder ``book``, unless they are current.

    Returns the first page. A warning of jupyter-book is an error.
    """
    first, listing = build / "html" / "index.html", PARAMS / "web_assets.yaml"
    texts = [ROOT / "CHANGELOG.md", ROOT / "CITATION.cff"]
    executed = sorted((build / "notebooks").glob("*.ipynb"))
    sources = [*_files(ROOT / "book"), *executed, *texts, listing, build / STATE]
    if first.is_file() and _changed(first) >= max(map(_changed, sources)):
        return first
    from aor_lib.stimuli.export.citation import bibtex  # loads more than a current book needs

    book = build / "book"
    for folder in (book, build / "html"):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "book", book)
    for path in executed:
        shutil.copyfile(path, book / path.name)
    shutil.copyfile(ROOT / "CHANGELOG.md", book / "changelog.md")
    (book / "citation.bib").write_text(bibtex(), encoding="utf-8")
    _run("jupyter-book", "build", "-W", "--keep-going", "--quiet", str(book))
    html = book / "_build" / "html"
    copy_files(listing, html / "_static" / "vendor")
    for name in ("clips", "explorer"):
        shutil.copytree(build / name, html / name)
    html.rename(build / "html")
    return first


def _stale(build: Path, notebooks: Path) -> list[Path]:
    """Notebooks to execute: as `make` would find them."""
    shared = max(map(_changed, [*_files(ROOT / "aor_lib"), build / STATE]))
    stale = []
    for source in sorted(notebooks.glob("*.ipynb")):
        needed = max(shared, _changed(source))
        if source.stem in _PEOPLE_ANSWER:
            needed = max(needed, _changed(build / "annotations.sqlite"))
        if _changed(build / "notebooks" / source.name) < needed:
            stale.append(source)
    return stale


def _execute(build: Path, source: Path, kernel: "AsyncKernelManager", printed: IO[str]) -> None:
    """Execute a notebook into the study's folder, where it appears whole."""
    import papermill
    from nbformat import v4

    cells: Any = v4  # untyped
    made = build / "notebooks" / source.name
    parameters: dict[str, str | bool] = {"build": str(build), "clip_url": "clips"}
    if source.stem == "explorer":  # its data lie beside the clips: the page needs no kernel
        parameters["live"] = False
    notebook = papermill.iorw.load_notebook_node(str(source))
    # The kernel has executed others; what they left there is not for this one.
    notebook.cells.insert(0, cells.new_code_cell("%reset -f", metadata={"tags": []}))
    try:
        notebook = papermill.execute_notebook(
            notebook, None, parameters, progress_bar=False, cwd=".", km=kernel
        )
    except Exception as error:  # noqa: BLE001 - a kernel may fail or die in any way
        if kernel.has_kernel:  # and was not stopped because another notebook failed
            printed.seek(0)
            print(printed.read(), error, sep="\n", file=sys.stderr)
        raise BookError(f"{source.stem}: papermill failed, as it says above") from None
    del notebook.cells[0]
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if "injected-parameters" in tags:
            tags.append("remove-cell")  # they are for the build, not for the reader
    with atomic_write(made) as stream:
        stream.write(json.dumps(notebook, indent=1).encode())


@contextmanager
def _kernel() -> Iterator[tuple["AsyncKernelManager", IO[str]]]:
    """A kernel of one thread, and the file that holds what it printed beside its cells."""
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_core.utils import run_sync

    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        kernel = AsyncKernelManager(kernel_name="python3")
        run_sync(kernel.start_kernel)(env=os.environ | _ONE_THREAD, stdout=printed, stderr=printed)
        try:
            yield kernel, printed
        finally:
            run_sync(kernel.shutdown_kernel)(now=True)


def _run(program: str, *arguments: str) -> None:
    """Run a program of this environment, silently unless it fails."""
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    environment = os.environ | _ONE_THREAD
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise BookError(f"the book: {program} failed, as it says above")


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def _changed(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0
