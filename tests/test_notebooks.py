"""Notebooks as they are committed: short cells, no outputs, and no result typed into prose."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CELLS = {
    path.name: json.loads(path.read_text(encoding="utf-8"))["cells"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
}
CONVENTIONS = {"95%", "5%", "80%"}  # levels of confidence, significance and power


def of_kind(name, kind):
    return [cell for cell in CELLS[name] if cell["cell_type"] == kind]


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_has_at_most_ten_lines_and_no_output(name):
    for cell in of_kind(name, "code"):
        lines = [line for line in "".join(cell["source"]).splitlines() if line.strip()]
        assert len(lines) <= 10, cell["id"]
        assert cell["outputs"] == []


@pytest.mark.parametrize("name", CELLS)
def test_no_prose_of_a_notebook_states_a_result(name):
    """Measurements differ from build to build, so only a cell can give them."""
    prose = "\n".join("".join(cell["source"]) for cell in of_kind(name, "markdown"))
    assert set(re.findall(r"[\d.]*\d ?(?:%|points?\b|percent)", prose)) <= CONVENTIONS


def test_the_data_card_has_every_section_in_its_notebook():
    card = (ROOT / "aor_lib/stimuli/data_card.md").read_text(encoding="utf-8")
    shown = ["".join(cell["source"]) for cell in of_kind("data_card.ipynb", "markdown")]
    assert shown[1:] == re.findall(r"^## .*", card, re.MULTILINE)
