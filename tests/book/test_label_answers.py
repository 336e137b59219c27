import os
import re
import shutil
import subprocess
import sys

import pytest
from playwright.sync_api import expect

import aor_lib as aor
from tests.book.conftest import ROOT

RUNS = "![...document.querySelectorAll('.jp-InputPrompt')].some(e => e.innerText.includes('*'))"


@pytest.fixture
def lab(tmp_path):
    for name in ("manifest.parquet", "results.sqlite"):
        shutil.copy(ROOT / "build" / "smoke" / name, tmp_path)
    for name in ("label_answers.ipynb", "annotation.py"):
        shutil.copy(ROOT / "notebooks" / name, tmp_path)
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--ServerApp.token="]
    with subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        addresses = (re.search(r"http://127\S+?/lab", line) for line in server.stderr)
        yield next(filter(None, addresses))[0]
        server.terminate()
        server.stderr.read()


@pytest.mark.nightly
def test_two_people_and_a_tie_break_correct_the_rates_in_a_browser(lab, tmp_path, tab):
    tab.set_viewport_size({"width": 1300, "height": 2600})
    tab.goto(f"{lab}/tree/label_answers.ipynb")
    cells = tab.locator(".jp-CodeCell")
    for annotator, errs in (("ann", 7), ("bob", 5), ("cyn", 1000)):
        cells.nth(0).locator(".cm-content").click()
        tab.keyboard.press("Control+A")
        tab.keyboard.insert_text(
            f"build, annotator, answers, seed = '.', '{annotator}', 40, 0\n"
            "intents = ['pseudo_harmful', 'harmful', 'benign']\n"
            "conditions = ['benign_scene', 'speech_only', 'noise', 'neutral_scene', 'described']\n"
        )
        tab.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
        tab.get_by_text("Run All Cells", exact=True).click()
        progress = cells.nth(2).locator(".widget-label").first
        expect(progress).to_have_text(re.compile(r"^0 of"), timeout=60_000)  # the cells run
        tab.wait_for_function(RUNS)
        asked = int(progress.inner_text().split()[2])
        for place in range(asked):
            answer = cells.nth(2).locator("blockquote").last.inner_text()
            refuses = ("sorry" in answer) != (place % errs == errs - 1)
            label = "Full refusal" if refuses else "Full compliance"
            tab.get_by_role("button", name=label).click()
            expect(progress).to_have_text(re.compile(rf"^{place + 1} of"))
        assert asked >= 40 or annotator == "cyn"
    cells.nth(3).locator(".cm-content").click()
    tab.keyboard.press("Shift+Enter")
    cells.nth(3).get_by_text("(corrected using human labels)").wait_for()
    labelled = aor.open(tmp_path).select("context").rates("condition").frame["labelled"]
    assert (labelled > 0).sum() >= 20
