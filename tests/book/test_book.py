import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, unquote, urldefrag, urlsplit
from urllib.request import url2pathname

import pytest
import yaml

import aor_lib as aor
from tests.book.conftest import PHONE, ROOT, axe_finds, probe, switch_theme

pytestmark = pytest.mark.slow

HEAVIEST = 3_000_000  # bytes of a page with all that it loads, but for sound
LONGEST, CHARTS = 1_100, 5  # words and charts of Results; the default profile's has 200 words more
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}  # all that a theme can change
TOC = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [TOC["root"], *(one["file"] for part in TOC["parts"] for one in part["chapters"])]
COMPUTED = {"index", "explorer", "models", *(p.stem for p in (ROOT / "notebooks").glob("*.ipynb"))}


def watched(tab, address):
    problems, own = [], (address, "data:", "blob:")

    def note(wrong, *what):
        if wrong:
            problems.append(what)

    tab.on("pageerror", lambda error: note(True, tab.url, str(error)))
    # A browser breaks off a clip once it has heard enough; clips are tested by playing them.
    tab.on("requestfailed", lambda one: note(one.resource_type != "media", "failed", one.url))
    tab.on("response", lambda one: note(one.status >= 400, one.status, one.url))
    tab.on("console", lambda one: note(one.type == "error", tab.url, one.text))
    tab.on("request", lambda one: note(not one.url.startswith(own), "foreign", one.url))
    return problems


def size_of(address):
    """Bytes of a file that a page loads; sound is not counted."""
    parts = urlsplit(address)
    path = Path(url2pathname(parts.path))
    counts = parts.scheme == "file" and path.is_file() and path.suffix != ".flac"
    return path.stat().st_size if counts else 0


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=[] if p in COMPUTED else pytest.mark.nightly) for p in PAGES]
)
def test_a_page_has_no_error_and_is_accessible_light_and_whole_on_a_phone(browser, html, page):
    with browser.new_page(color_scheme="light") as tab:
        problems = watched(tab, html.as_uri())
        loaded = set()
        tab.on("request", lambda request: loaded.add(urldefrag(request.url).url))
        tab.goto(f"{html.as_uri()}/{page}.html")
        tab.wait_for_function(probe("drawAll"), polling=100)
        if tab.locator(".aor-explorer").count():
            tab.locator(".aor-explorer .aor-clip").first.wait_for()
        assert sum(map(size_of, loaded)) <= HEAVIEST
        assert tab.evaluate(probe("emptySections")) == []
        failed = tab.locator(":is(.output.stderr, .output.traceback)")
        assert failed.all_text_contents() == []
        for theme, rules in (("light", None), ("dark", COLOURS)):
            switch_theme(tab, theme)
            assert tab.locator(".aor-chart").evaluate_all(probe("withoutMarks")) == []
            assert axe_finds(tab, rules) == [], theme
        tab.set_viewport_size(PHONE)
        switch_theme(tab, "light")  # draws the charts again, narrow
        tab.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert tab.locator(".aor-chart svg").evaluate_all(probe("cutOff")) == []
        assert problems == []


def test_results_has_few_words_and_charts(tab, address):
    tab.goto(f"{address}/results.html")
    assert 0 < tab.evaluate(probe("words")) <= LONGEST
    assert 0 < tab.locator(".aor-chart").count() <= CHARTS


def test_without_scripts_the_players_and_the_numbers_remain(browser, address):
    with browser.new_page(java_script_enabled=False) as tab:
        tab.goto(f"{address}/dataset.html")
        assert tab.locator("audio:visible").count() > 1
        tab.goto(f"{address}/context.html")
        chart = tab.locator(".aor-chart").first
        chart.locator("summary").click()
        assert chart.locator("td").first.is_visible()


def test_a_clip_that_a_filter_hides_is_paused(tab, address, html):
    page = (html / "context.html").read_text("utf-8")
    card = re.search('<article class="aor-clip".*?</article>', page, re.DOTALL)[0]
    many = page.replace(card, card + 6 * card.replace('condition="', 'condition="Another '))
    tab.route("**/context.html", lambda one: one.fulfill(body=many, content_type="text/html"))
    tab.goto(f"{address}/context.html")
    clip = tab.locator(".aor-clip audio").first
    clip.evaluate("clip => clip.play()")
    tab.locator(".aor-filters select").first.select_option(index=2)
    assert clip.evaluate("clip => clip.paused")


def test_every_link_inside_the_book_leads_somewhere(html):
    texts = {page: (html / f"{page}.html").read_text("utf-8") for page in PAGES}
    facets = {"utterance_id", "stimulus_id", "compare"}
    facets |= set(re.findall(r'"name":"(\w+)"', (html / "explorer/index.js").read_text("ascii")))
    broken = []
    for page, text in texts.items():
        for link in map(unescape, re.findall(r'<(?:a|audio)\s[^>]*?(?:href|src)="([^"]*)"', text)):
            target, fragment = urldefrag(link)
            if urlsplit(target).scheme:
                continue
            file = html / unquote(urlsplit(target).path) if target else html / f"{page}.html"
            known = texts.get(file.stem)
            if file.stem == "explorer" and "=" in fragment:  # a choice, and no anchor
                leads = parse_qs(fragment, strict_parsing=True).keys() <= facets
            else:
                leads = known is None or fragment in ("", "top") or f' id="{fragment}"' in known
            if not (file.exists() and leads):
                broken.append(f"{page}: {link}")
    assert not broken


def test_the_api_reference_documents_every_public_name(html):
    text = "".join((html / page).read_text("utf-8") for page in ("api.html", "api_models.html"))
    assert [n for n in aor.__all__ if not re.search(rf' id="aor_lib(\.\w+)*\.{n}"', text)] == []


def test_every_page_is_in_the_sitemap_and_says_what_a_link_to_it_shows(html):
    sitemap = (html / "sitemap.xml").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"{page}.html</loc>" in sitemap
        text = (html / f"{page}.html").read_text(encoding="utf-8")
        # No repository is named, so nothing leads there.
        assert not re.search("mybinder.org|source-edit-button|REPOSITORY_URL", text), page
        shown = dict(re.findall('<meta property="og:([^"]*)" content="([^"]*)">', text))
        assert all(shown[name].strip() for name in ("title", "description", "site_name")), page
        assert (html / shown["image"]).is_file()
