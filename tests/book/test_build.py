import json
import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock
from nbformat.v4 import new_code_cell, new_notebook
from typer.testing import CliRunner

from aor_lib.config.params import PARAMS, load_study
from aor_lib.inference.exchange import export_results
from book._ext import build as book
from book._ext.build import STATE, BookError, execute_notebooks
from book._ext.unpacking import unpack_study
from tests.audio.sounds import put

STEPS = [f"book._ext.{name}" for name in ("build._run", "explorer.write_data")]
STEPS += ["book._ext.clip_pages.write_clip_pages", "aor_lib.storage.assets.fetch"]
READ = ("CITATION.cff", "requirements/lock.txt", "reference/judge/blind_tests.csv")


@pytest.fixture
def study(tmp_path):
    build, notebooks = tmp_path / "build", tmp_path / "notebooks"
    put(build / STATE, "made")

    def write(name, source):
        tags = {"tags": ["parameters", "remove-cell"]}
        cells = [new_code_cell("build = ''", metadata=tags), new_code_cell(source)]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
        put(notebooks / f"{name}.ipynb", json.dumps(notebook))

    return build, notebooks, write


@pytest.mark.slow
def test_a_notebook_is_executed_without_its_parameters_shown(study):
    build, notebooks, write = study
    write("one", "build")
    assert execute_notebooks(build, notebooks) == 1
    cells = json.loads((build / "notebooks" / "one.ipynb").read_text())["cells"]
    assert cells[-1]["outputs"][-1]["data"]["text/plain"] == repr("../build")
    assert all("remove-cell" in cell["metadata"]["tags"] for cell in cells[:-1])


def test_a_notebook_is_executed_again_if_what_it_is_made_from_changed(study, monkeypatch):
    build, notebooks, write = study
    executed = []

    def copy(build, source, kernel):
        executed.append(source.stem)
        (build / "notebooks" / source.name).write_bytes(source.read_bytes())

    monkeypatch.setattr(book, "_execute", copy)
    monkeypatch.setattr(book, "_kernel", nullcontext)
    monkeypatch.setattr(book, "ROOT", build.parent)
    read = [put(build.parent / name, "1") for name in READ]
    write("one", "1")
    write("two", "2")
    assert execute_notebooks(build, notebooks) == 2
    (notebooks / "one.ipynb").touch()
    assert execute_notebooks(build, notebooks) == 0
    for path in read:
        path.write_text("2")
        assert execute_notebooks(build, notebooks) == 2
    write("one", "0")
    os.utime(notebooks / "one.ipynb", (0, 0))  # as a copy of an older file
    assert execute_notebooks(build, notebooks) == 1
    assert executed[-1] == "one"
    (build / STATE).write_text("made anew")
    assert execute_notebooks(build, notebooks, unexecuted=["one"]) == 1
    (notebooks / "two.ipynb").unlink()
    assert execute_notebooks(build, notebooks) == 1  # what was only shown
    assert [path.name for path in (build / "notebooks").iterdir()] == ["one.ipynb"]


@pytest.mark.slow
def test_a_notebook_that_fails_is_named_with_its_error(study, capfd):
    build, notebooks, write = study
    write("broken", "raise RuntimeError('no such luck')")
    with pytest.raises(BookError, match="broken"):
        execute_notebooks(build, notebooks)
    assert "no such luck" in capfd.readouterr().err
    assert not (build / "notebooks" / "broken.ipynb").exists()


def test_pages_are_stale_if_what_they_show_has_other_content(study, monkeypatch):
    build, _, _ = study
    put(build / "html" / "index.html", "")
    page, seen = put(build / "notebooks" / "one.ipynb", "1"), []
    monkeypatch.setattr(book, "up_to_date", lambda *made_from: not seen.append(made_from))
    for change in (page.touch, page.touch, lambda: page.write_text("2")):
        change()
        os.utime(page, (len(seen), 0) if len(seen) < 2 else (0, 0))  # then as an older file
        book.write_pages(build)
    assert seen[0] == seen[1] != seen[2]


@pytest.mark.parametrize("error", [BookError("no page"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", STEPS)
def test_pages_that_fail_or_are_interrupted_leave_the_last_good_ones(
    study, monkeypatch, step, error
):
    build, _, _ = study
    put(build / "html" / "index.html", "good")

    def fail(*_):
        raise error

    monkeypatch.setattr("aor_lib.open", lambda build: SimpleNamespace(trials=None))
    for name in STEPS:
        monkeypatch.setattr(name, fail if name == step else lambda *_: None)
    for _ in range(2):  # and they do not pass for current
        with pytest.raises(type(error)):
            book.write_pages(build)
    assert (build / "html" / "index.html").read_text() == "good"


def test_new_pages_take_the_place_of_old_ones_and_the_old_ones_stay_if_they_cannot(tmp_path):
    for name in ("old", "new"):
        put(tmp_path / name / name, "")
    with pytest.raises(FileNotFoundError):
        book.replace_folder(tmp_path / "missing", tmp_path / "old")
    assert (tmp_path / "old" / "old").exists()
    book.replace_folder(tmp_path / "new", tmp_path / "old")
    assert [path.name for path in tmp_path.rglob("*")] == ["old", "new"]
    for folder in (tmp_path, tmp_path / "old"):
        book.link_to(folder, tmp_path / "html")
        assert (tmp_path / "html").resolve() == folder


def test_a_profile_anywhere_is_built_in_the_folder_that_is_named(tmp_path, monkeypatch):
    profile, made = put(tmp_path / "my/profile.yaml", (PARAMS / "smoke.yaml").read_bytes()), []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(book, "stages", lambda *given: [("stimuli", lambda: made.append(given[2]))])
    for name in ("record_state", "execute_notebooks", "write_pages"):
        monkeypatch.setattr(book, name, lambda folder, *_, **__: made.append(folder))
    done = CliRunner().invoke(book.app, [str(profile), "--build", "other"])
    assert (done.exit_code, made) == (0, [Path("other")] * 4)
    assert Path("build/html").resolve() == tmp_path / "other/html"


def test_a_program_that_fails_fails_the_book_and_its_output_is_shown(capfd):
    with pytest.raises(BookError, match="python failed"):
        book._run("python", "-c", "raise SystemExit('no page')")
    assert "no page" in capfd.readouterr().err


@pytest.mark.slow
def test_a_bundle_replaces_results_but_neither_labels_nor_the_book(html, tmp_path):
    study, folder = load_study(PARAMS / "smoke.yaml"), tmp_path / "smoke"
    names = ["labels/a.csv", "html/a.html", "notebooks/a.ipynb", ".stages/a", ".stages/steer"]
    export_results(study, html.parent, tmp_path / "smoke.zip")
    for _ in range(2):
        unpack_study(tmp_path / "smoke.zip", study, folder)
        present = [name for name in names if (folder / name).exists()]
        for name in names:
            put(folder / name, "")
    assert present == names[:4]


def test_a_second_build_of_a_folder_says_that_it_waits_and_goes_on(tmp_path, monkeypatch):
    other, said = FileLock(tmp_path / ".study.lock").acquire().lock, []

    def echo(message, err):
        other.release()
        said.append(message)

    monkeypatch.setattr(book.typer, "echo", echo)
    for _ in range(2):
        with book.one_at_a_time(tmp_path / "study"):
            assert ["under way" in message for message in said] == [True]
