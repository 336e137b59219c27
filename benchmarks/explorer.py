"""How fast the explorer loads and filters: python -m benchmarks.explorer build/smoke/html

The argument is the folder of a built book, whose explorer gets 3,000 stimuli. Chromium and the
server share at most two cores. The time to the first card starts at the request for the page; the
time of a filter runs from the choice to the frame that shows the cards.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.explorer_study import book_of, chromium, serve, write_study

STIMULI, TURNS, CORES = 3_000, 5, 2
FILTERS = (
    "scenario=kitchen",
    "background_scene=film_set",
    "model=model-a",
    "label=full_refusal",
    "split=test&verdict=wrong&elsewhere=nowhere",
    "q=number+7&label=partial_refusal",
    "condition=noise&intent=harmful&model=model-b&label=unjudged",
)

FILTER_MS = """async filter => {
  const root = document.querySelector(".aor-explorer");
  const start = performance.now();
  for (const field of root.querySelectorAll("[name]")) {
    field.value = new URLSearchParams(filter).get(field.name) || "";
  }
  root.querySelector("[name=q]").dispatchEvent(new Event("input", {bubbles: true}));
  while (root.dataset.drawn !== (location.hash || "#")) await new Promise(requestAnimationFrame);
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
FIRST_CARD = """(() => {
  const look = () => {
    if (document.querySelector(".aor-explorer .aor-clip")) window.firstCard = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()"""


def measure(browser, address):
    """Milliseconds to the first card and for each filter, in one new window."""
    with browser.new_context() as context:
        tab = context.new_page()
        tab.add_init_script(FIRST_CARD)
        tab.goto(address)
        tab.wait_for_function("window.firstCard")
        times = {"first card": tab.evaluate("window.firstCard")}
        return times | {choice: tab.evaluate(FILTER_MS, choice) for choice in FILTERS}


def main(html):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        study = Path(folder) / "study"
        write_study(study, STIMULI)
        browser = chromium(playwright)
        with serve(book_of(study, html.resolve(), Path(folder) / "book")) as address:
            turns = [measure(browser, f"{address}/explorer.html") for _ in range(TURNS)]
    for name in turns[0]:
        times = [turn[name] for turn in turns]
        print(f"{name}: {statistics.median(times):.0f} ms, {max(times):.0f} ms at worst")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
