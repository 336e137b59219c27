"""The built smoke book in a real browser that reaches nothing but the book."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from benchmarks.explorer_study import serve

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "smoke"
HTML = BUILD / "html"
# The first is made for tests: it has no windows.
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    # No name of any other host can be looked up.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
AXE = "_static/vendor/axe-core/axe.min.js"

# Style sheets are not fetched again (`preload`): from a file the browser would refuse it.
RUN_AXE = """rules => axe.run(document, {
  preload: false,
  resultTypes: ["violations"],
  ...(rules && {runOnly: rules}),
}).then(result => result.violations
    .filter(found => ["serious", "critical"].includes(found.impact))
    .map(found => `${found.id}: ${found.nodes.map(node => node.html).join(" ")}`))"""


@pytest.fixture(scope="session")
def html():
    """Folder of the built book."""
    if not (HTML / "index.html").is_file():
        pytest.fail("the smoke book is not built: run `make book PROFILE=smoke`", pytrace=False)
    return HTML


@pytest.fixture(scope="session")
def browser(html):
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip("no Chromium or Chrome found; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=executable, args=list(FLAGS))


both_ways = pytest.mark.parametrize("address", ["file", "server"], indirect=True)


@pytest.fixture(scope="session")
def address(request, html):
    """Where the book is: opened from the disk or, where a test asks, served on this machine."""
    if getattr(request, "param", "file") == "file":
        yield html.as_uri()
        return
    with serve(html) as address:
        yield address


@pytest.fixture
def tab(browser):
    with browser.new_page() as tab:
        yield tab


def switch_theme(tab, theme):
    """Set the theme as the page's own switch does; wait until charts and colours have followed."""
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    tab.wait_for_function(
        "theme => [...document.querySelectorAll('.aor-chart')]"
        ".every(chart => chart.dataset.drawn === theme)"
        " && document.getAnimations().every(motion => motion.playState !== 'running')",
        arg=theme,
    )
