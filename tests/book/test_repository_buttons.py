"""Buttons that lead from a page to its source and to a kernel, in a book of two pages."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/my-name/my-fork"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    """Where the pages of a book lead whose configuration names a repository."""
    book = tmp_path_factory.mktemp("book")
    for name in ("_ext", "_static"):
        shutil.copytree(ROOT / "book" / name, book / name)
    config = (ROOT / "book" / "_config.yml").read_text(encoding="utf-8")
    named = config.replace('repository_url: ""', f"repository_url: {REPOSITORY}")
    (book / "_config.yml").write_text(named, encoding="utf-8")
    (book / "references.bib").touch()
    (book / "_toc.yml").write_text("format: jb-book\nroot: intro\nchapters: [{file: results}]\n")
    (book / "intro.md").write_text("# Intro\n\n[Clone](REPOSITORY_URL/clone)\n")
    notebook = new_notebook(cells=[new_markdown_cell("# Results")], metadata=KERNEL)
    (book / "results.ipynb").write_text(json.dumps(notebook))
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-W", "--quiet", book]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {name: book / "_build" / "html" / f"{name}.html" for name in ("intro", "results")}
    return {
        name: [unescape(link) for link in re.findall('href="([^"]*)"', page.read_text("utf-8"))]
        for name, page in pages.items()
    }


def test_with_a_repository_every_page_leads_to_its_source(links):
    assert f"{REPOSITORY}/edit/main/notebooks/results.ipynb" in links["results"]
    assert f"{REPOSITORY}/edit/main/book/intro.md" in links["intro"]
    assert REPOSITORY in links["intro"]
    assert f"{REPOSITORY}/clone" in links["intro"]


def test_with_a_repository_a_notebook_can_be_run_elsewhere(links):
    path = "notebooks/results.ipynb"
    assert (
        f"https://mybinder.org/v2/gh/my-name/my-fork/main?urlpath=lab/tree/{path}"
        in links["results"]
    )
    assert (
        f"https://colab.research.google.com/github/my-name/my-fork/blob/main/{path}"
        in links["results"]
    )
    assert not [link for link in links["intro"] if "mybinder" in link or "colab" in link]


def test_without_a_repository_no_page_has_such_buttons(html):
    for page in html.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "mybinder.org" not in text
        assert "source-edit-button" not in text
