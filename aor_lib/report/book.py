"""The book of a study: its notebooks executed where they are stale, and the pages made of them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from aor_lib.config.errors import AorError
from aor_lib.config.params import PARAMS
from aor_lib.storage.assets import copy_files
from aor_lib.storage.stages import STATE

ROOT = PARAMS.parent
ASK_MODELS = ("add_a_model", "make_a_clip", "steer_a_model")
"""Tutorials that load models and do not only read what they said."""
_PEOPLE_ANSWER = ("listen", "label_answers")
_AT_ONCE = 2  # each in one thread


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
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            for done, _ in enumerate(pool.map(partial(_execute, build), stale), start=1):
                report(done, len(stale))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
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


def _execute(build: Path, source: Path) -> None:
    """Execute a notebook into the study's folder, where it appears whole."""
    made = build / "notebooks" / source.name
    partial_ = made.with_suffix(".partial")
    parameters = ["-p", "build", str(build), "-p", "clip_url", "clips"]
    if source.stem == "explorer":  # its data lie beside the clips: the page needs no kernel
        parameters += ["-p", "live", "False"]
    options = ["--no-progress-bar", "--log-level", "WARNING", "--cwd", "."]
    _run("papermill", *options, str(source), str(partial_), *parameters)
    notebook = json.loads(partial_.read_bytes())
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if "injected-parameters" in tags:
            tags.append("remove-cell")  # they are for the build, not for the reader
    partial_.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    partial_.replace(made)


def _run(program: str, *arguments: str) -> None:
    """Run a program of this environment, silently unless it fails."""
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    threads = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=threads, check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        what = next((Path(one).stem for one in arguments if one.endswith(".ipynb")), "the book")
        raise BookError(f"{what}: {program} failed, as it says above")


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def _changed(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0
