"""How fast the explorer appears and filters: python -m benchmarks.explorer build/smoke/html

The folder is that of a built book, whose explorer is given 3,000 stimuli. Chromium has at most two
cores, which it shares with the server. Times to the first paint count from the request for the
page; those of filters from the press to the frame that shows the cards.
"""

import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.explorer_study import (
    FILTERS,
    book_of,
    filter_ms,
    first_paint_ms,
    serve,
    write_study,
)
from tests.book.conftest import BROWSERS, FLAGS

STIMULI, TURNS, CORES = 3_000, 5, 2


def measure(browser, address):
    """Time to the first paint, to the first card, and of each filter, in one new window."""
    context = browser.new_context()
    tab = context.new_page()
    paint, card = first_paint_ms(tab, address)
    filters = {choice: filter_ms(tab, choice) for choice in FILTERS}
    context.close()
    return paint, card, filters


def main(html):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    executable = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        study = Path(folder) / "study"
        write_study(study, STIMULI)
        book = book_of(study, html.resolve(), Path(folder) / "book")
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        with serve(book) as address:
            turns = [measure(browser, f"{address}/explorer.html") for _ in range(TURNS)]
    paints, cards, filters = zip(*turns, strict=True)
    for name, times in {"first paint": paints, "first card": cards}.items():
        print(f"{name}: {statistics.median(times):.0f} ms, {max(times):.0f} ms at worst")
    for choice in FILTERS:
        times = [turn[choice] for turn in filters]
        print(f"{choice}: {statistics.median(times):.0f} ms, {max(times):.0f} ms at worst")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
