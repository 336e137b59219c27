"""How fast the wall loads, filters and responds to keys: python -m benchmarks.wall build/smoke/html

The argument is the folder of a built book, whose wall gets made-up answers of 17 models to 410
requests in seven conditions. Chromium and the server share at most two cores. The time to the
first picture starts at the request for the page; the other times run from the choice or the key
press to the end of the frame that shows its effect.
"""

import json
import os
import statistics
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from aor_lib.config.records import Condition, Intent, Label
from benchmarks.explorer_study import chromium, serve

REQUESTS, MODELS, TURNS, CORES = 410, 17, 5, 2
CONDITIONS = [condition for condition in Condition if condition != Condition.AS_FOUND]
SCENARIOS = ("film_theatre", "kitchen", "medical_emergency", "sports", "video_gaming", "workshop")
CHOICES = ("scenario=kitchen", "scenario=", "model=model-3", "model=", "answer=1", "answer=1")

NEXT_FRAME = "await new Promise(done => requestAnimationFrame(() => setTimeout(done)));"
CHOICE_MS = f"""async choice => {{
  const root = document.querySelector(".aor-wall");
  const [name, value] = choice.split("=");
  const list = root.querySelector(`select[name=${{name}}]`);
  const start = performance.now();
  if (list) {{
    list.value = value || "any";
    if (list.selectedIndex < 0) list.value = "";
    list.dispatchEvent(new Event("change"));
  }} else root.querySelectorAll(".aor-wall-legend button")[value].click();
  while (root.dataset.drawn !== (location.hash || "#")) await new Promise(requestAnimationFrame);
  {NEXT_FRAME}
  return performance.now() - start;
}}"""
KEY_MS = f"""async key => {{
  const start = performance.now();
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {{key, bubbles: true}}));
  {NEXT_FRAME}
  return performance.now() - start;
}}"""
FIRST_PICTURE = """(() => {
  const look = () => {
    if (document.querySelector(".aor-wall")?.dataset.drawn) window.firstPicture = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()"""


def made_up_index() -> dict[str, object]:
    """Made-up explorer data: every request in each condition, answered by each model."""
    rng = np.random.default_rng(0)
    rows = list(product(range(REQUESTS), CONDITIONS))
    digits = [rng.integers(0, len(Label), len(rows)) for _ in range(MODELS)]
    facets = {
        "intent": [Intent.PSEUDO_HARMFUL for _ in rows],
        "condition": [condition for _, condition in rows],
        "split": ["test" for _ in rows],
        "block": ["core" for _ in rows],
        "scenario": [SCENARIOS[request % len(SCENARIOS)] for request, _ in rows],
        "variant": ["0" for _ in rows],
    }
    models = [f"model-{i}" for i in range(MODELS)]
    answers = {"model": models, "mitigation": ["none"], "label": list(Label)}
    known = {name: sorted(set(values)) for name, values in facets.items()}
    return {
        "texts": [f"How do I beat the oven number {request}?" for request, _ in rows],
        "ids": [f"kitchen-{request:04}.{condition}" for request, condition in rows],
        "utterances": [f"kitchen-{request:04}" for request, _ in rows],
        "facets": [
            _facet(name, known[name]) | {"codes": [known[name].index(value) for value in values]}
            for name, values in facets.items()
        ],
        "answerFacets": [_facet(name, values) for name, values in answers.items()],
        "arms": [
            {"codes": [i, 0], "digits": ["".join(map(str, row))]} for i, row in enumerate(digits)
        ],
        "parts": [0],
    }


def _facet(name: str, values: list[str]) -> dict[str, object]:
    titles = [value.replace("_", " ").capitalize() for value in map(str, values)]
    return {"name": name, "title": name, "default": "any", "values": values, "titles": titles}


def measure(browser, address):
    """Milliseconds to the first picture, for each choice and for keys, in one new window."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        tab = context.new_page()
        tab.add_init_script(FIRST_PICTURE)
        tab.goto(address)
        tab.wait_for_function("window.firstPicture")
        times = {"first picture": tab.evaluate("window.firstPicture")}
        for choice in CHOICES:
            times[choice] = max(times.get(choice, 0), tab.evaluate(CHOICE_MS, choice))
        tab.locator(".aor-wall [role=gridcell]").focus()
        keys = ["ArrowDown", "ArrowRight"] * 50
        return times | {"100 keys, the slowest": max(tab.evaluate(KEY_MS, key) for key in keys)}


def main(html):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        book = Path(folder)
        for path in html.resolve().iterdir():
            if path.name != "explorer":
                (book / path.name).symlink_to(path)
        (book / "explorer").mkdir()
        script = f'aorExplorer.receive("index",{json.dumps(made_up_index())})'
        (book / "explorer" / "index.js").write_text(script, encoding="ascii")
        browser = chromium(playwright)
        with serve(book) as address:
            turns = [measure(browser, f"{address}/wall.html") for _ in range(TURNS)]
    for name in turns[0]:
        times = [turn[name] for turn in turns]
        print(f"{name}: {statistics.median(times):.0f} ms, {max(times):.0f} ms at worst")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
