"""Buttons that lead from a page to its source and to a kernel, in a book of two pages."""

import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from tests.book.conftest import ROOT

pytestmark = pytest.mark.slow

REPOSITORY = "https://github.com/my-name/my-fork"
NOTEBOOK = "notebooks/results.ipynb"
LINKS = {
    "intro": {REPOSITORY, f"{REPOSITORY}/edit/main/book/intro.md"},
    "results": {
        f"{REPOSITORY}/edit/main/{NOTEBOOK}",
        f"https://mybinder.org/v2/gh/my-name/my-fork/main?urlpath=lab/tree/{NOTEBOOK}",
        f"https://colab.research.google.com/github/my-name/my-fork/blob/main/{NOTEBOOK}",
    },
}


def test_with_a_repository_pages_lead_to_their_source_and_notebooks_to_a_kernel(tmp_path):
    for name in ("_ext", "_static"):
        shutil.copytree(ROOT / "book" / name, tmp_path / name)
    config = (ROOT / "book" / "_config.yml").read_text(encoding="utf-8")
    named = config.replace('repository_url: ""', f"repository_url: {REPOSITORY}")
    (tmp_path / "_config.yml").write_text(named, encoding="utf-8")
    (tmp_path / "references.bib").touch()
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: intro\nchapters: [file: results]\n")
    (tmp_path / "intro.md").write_text("# Intro\n")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = new_notebook(cells=[new_markdown_cell("# Results")], metadata=kernel)
    nbformat.write(notebook, tmp_path / "results.ipynb")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-W", "--quiet", tmp_path]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, expected in LINKS.items():
        page = (tmp_path / "_build" / "html" / f"{name}.html").read_text("utf-8")
        assert expected <= {unescape(link) for link in re.findall('href="([^"]*)"', page)}
        assert name == "results" or not re.search("mybinder|colab.research", page)
