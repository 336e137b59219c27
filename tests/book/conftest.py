"""The built smoke book in a real browser that reaches nothing but the book."""

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from benchmarks.explorer_study import chromium, serve

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "build" / "smoke" / "html"
PHONE = {"width": 390, "height": 844}
PROBES = Path(__file__).with_name("probes.js").read_text(encoding="utf-8")


def probe(name):
    """A function of ``probes.js`` for the browser to call."""
    return f"(...given) => {PROBES}.{name}(...given)"


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
    tab.wait_for_function(probe("themeIsShown"), arg=theme)


def axe_finds(tab, rules=None):
    if not tab.evaluate("Boolean(window.axe)"):
        tab.evaluate((HTML / "_static/vendor/axe-core/axe.min.js").read_text("utf-8"))
    return tab.evaluate(probe("axe"), rules)
