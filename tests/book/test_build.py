import json
import os

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from aor_lib.storage.progress import STATE
from book._ext.build import BookError, execute_notebooks

pytestmark = pytest.mark.slow


@pytest.fixture
def study(tmp_path):
    build, notebooks = tmp_path / "build", tmp_path / "notebooks"
    for folder in (build, notebooks):
        folder.mkdir()
    (build / STATE).write_text("made")

    def write(name, source):
        tags = {"tags": ["parameters", "remove-cell"]}
        cells = [new_code_cell("build = ''", metadata=tags), new_code_cell(source)]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
        (notebooks / f"{name}.ipynb").write_text(json.dumps(notebook))

    return build, notebooks, write


def test_a_notebook_is_executed_once_and_without_its_parameters_shown(study):
    build, notebooks, write = study
    write("one", "build")
    assert execute_notebooks(build, notebooks) == 1
    cells = json.loads((build / "notebooks" / "one.ipynb").read_text())["cells"]
    assert cells[-1]["outputs"][-1]["data"]["text/plain"] == repr("../build")
    assert all("remove-cell" in cell["metadata"]["tags"] for cell in cells[:-1])
    assert execute_notebooks(build, notebooks) == 0
    os.utime(build / STATE, (2e9, 2e9))
    assert execute_notebooks(build, notebooks, unexecuted=["one"]) == 0
    assert execute_notebooks(build, notebooks) == 1


def test_a_notebook_that_fails_is_named_with_its_error(study, capfd):
    build, notebooks, write = study
    write("broken", "raise RuntimeError('no such luck')")
    with pytest.raises(BookError, match="broken"):
        execute_notebooks(build, notebooks)
    assert "no such luck" in capfd.readouterr().err
    assert not (build / "notebooks" / "broken.ipynb").exists()
