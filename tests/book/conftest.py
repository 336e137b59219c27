"""The built smoke book in a real browser that reaches nothing but the book."""

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from benchmarks.explorer_study import chromium, serve

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "build" / "smoke" / "html"
PHONE = {"width": 390, "height": 844}

# Style sheets are not fetched again (`preload`): from a file the browser would refuse it.
RUN_AXE = """rules => axe.run(document, {
  preload: false,
  resultTypes: ["violations"],
  ...(rules && {runOnly: rules}),
}).then(result => result.violations
    .filter(found => ["serious", "critical"].includes(found.impact))
    .map(found => `${found.id}: ${found.nodes.map(node => node.html).join(" ")}`))"""

THEME_IS_SHOWN = """theme => document.getAnimations().every(one => one.playState !== "running")
  && [...document.querySelectorAll(".aor-chart")].every(one => one.dataset.drawn === theme)"""


@pytest.fixture(scope="session")
def html():
    if not (HTML / "index.html").is_file():
        pytest.fail("the smoke book is not built: run `make book PROFILE=smoke`", pytrace=False)
    return HTML


@pytest.fixture(scope="session")
def browser(html):
    with sync_playwright() as playwright:
        browser = chromium(playwright)
        if browser is None:
            pytest.skip("no Chromium or Chrome found; on Debian: apt-get install chromium")
        yield browser


both_ways = pytest.mark.parametrize("address", ["file", "server"], indirect=True)


@pytest.fixture(scope="session")
def address(request, html):
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
    tab.wait_for_function(THEME_IS_SHOWN, arg=theme)


def axe_finds(tab, rules=None):
    """Serious violations of accessibility."""
    if not tab.evaluate("Boolean(window.axe)"):
        tab.evaluate((HTML / "_static/vendor/axe-core/axe.min.js").read_text("utf-8"))
    return tab.evaluate(RUN_AXE, rules)
