"""What a reader of the built book relies on, checked in Chromium."""

from collections import defaultdict
from contextlib import contextmanager
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from aor_lib.results import load_manifest

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
AXE = "_static/vendor/axe-core/axe.min.js"

LOAD = """clip => new Promise((resolve, reject) => {
  clip.addEventListener("loadeddata", () => resolve(clip.duration), {once: true});
  clip.addEventListener("error", () => reject(new Error(clip.error.message)), {once: true});
  clip.preload = "auto";
  clip.load();
})"""

# Style sheets are not fetched again (`preload`): from a file the browser would refuse it.
RUN_AXE = """() => axe.run(document, {preload: false, resultTypes: ["violations"]}).then(
  result => result.violations
    .filter(found => ["serious", "critical"].includes(found.impact))
    .map(found => `${found.id}: ${found.nodes.map(node => node.html).join(" ")}`))"""


@contextmanager
def open_tab(browser, **settings):
    context = browser.new_context(**{"viewport": DESKTOP} | settings)
    try:
        yield context.new_page()
    finally:
        context.close()


def draw_all_charts(tab):
    """Bring every chart near the screen, where it is drawn, and wait until it is."""
    for chart in tab.locator(".aor-chart").all():
        chart.scroll_into_view_if_needed()
    tab.wait_for_function(
        "[...document.querySelectorAll('.aor-chart')].every(chart => chart.dataset.drawn)"
    )


def switch_theme(tab, theme):
    """Set the theme as the page's own switch does; wait until charts and colours have followed."""
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    tab.wait_for_function(
        "theme => [...document.querySelectorAll('.aor-chart')]"
        ".every(chart => chart.dataset.drawn === theme)"
        " && document.getAnimations().every(motion => motion.playState !== 'running')",
        arg=theme,
    )


def charts_without_marks(tab):
    return tab.locator(".aor-chart").evaluate_all(
        """charts => charts
          .filter(chart => !chart.querySelector("svg .role-mark path, svg .role-mark line"))
          .map(chart => chart.querySelector("figcaption").textContent)"""
    )


def test_every_page_loads_and_draws_its_charts_without_an_error_or_a_foreign_request(
    browser, address, pages
):
    problems, charts = [], 0
    with open_tab(browser) as tab:
        tab.on("pageerror", lambda error: problems.append(f"{tab.url}: {error}"))
        tab.on("requestfailed", lambda request: problems.append(f"failed: {request.url}"))
        tab.on(
            "response",
            lambda response: (
                problems.append(f"{response.status}: {response.url}")
                if response.status >= 400
                else None
            ),
        )
        tab.on(
            "console",
            lambda message: (
                problems.append(f"{tab.url}: {message.text}") if message.type == "error" else None
            ),
        )
        tab.on(
            "request",
            lambda request: (
                problems.append(f"foreign: {request.url}")
                if not request.url.startswith((address, "data:", "blob:"))
                else None
            ),
        )
        for page in pages:
            tab.goto(f"{address}/{page}.html", wait_until="load")
            draw_all_charts(tab)
            charts += tab.locator(".aor-chart").count()
            problems += [f"{page}: nothing drawn: {title}" for title in charts_without_marks(tab)]
    assert not problems
    assert charts > len(pages)


def test_a_clip_of_every_scenario_decodes_and_lasts_as_long_as_its_manifest_row_says(
    browser, address, html
):
    manifest = load_manifest(html.parent).dropna(subset=["path"]).set_index("path")
    clips = defaultdict(list)
    with open_tab(browser) as tab:
        tab.goto(f"{address}/dataset.html")
        players = tab.locator("audio").all()
        for player in players:
            row = manifest.loc[unquote(player.get_attribute("src"))]
            clips[row["scenario"]].append((player, row["duration_s"]))
        assert set(clips) == set(manifest["scenario"])
        for (player, duration), *_ in clips.values():
            assert player.evaluate(LOAD) == pytest.approx(duration, abs=0.05)


@pytest.mark.parametrize("address", ["file"], indirect=True)
def test_charts_follow_the_theme_when_it_is_switched(browser, address):
    with open_tab(browser, color_scheme="light") as tab:
        tab.goto(f"{address}/results.html")
        draw_all_charts(tab)
        label = tab.locator(".aor-chart svg .role-axis-label text").first
        light = label.get_attribute("fill")
        switch_theme(tab, "dark")
        assert charts_without_marks(tab) == []
        assert label.get_attribute("fill") != light


@pytest.mark.parametrize("address", ["file"], indirect=True)
def test_no_page_scrolls_sideways_on_a_phone(browser, address, pages):
    with open_tab(browser, viewport=PHONE) as tab:
        widths = {}
        for page in pages:
            tab.goto(f"{address}/{page}.html")
            draw_all_charts(tab)
            tab.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
            widths[page] = tab.evaluate("document.documentElement.scrollWidth")
    assert max(widths.values()) <= PHONE["width"], widths


@pytest.mark.parametrize("address", ["file"], indirect=True)
def test_axe_finds_no_serious_or_critical_violation_in_either_theme(browser, address, html, pages):
    violations = []
    with open_tab(browser) as tab:
        for page in pages:
            tab.goto(f"{address}/{page}.html")
            draw_all_charts(tab)
            tab.evaluate((html / AXE).read_text(encoding="utf-8"))
            for theme in ("light", "dark"):
                switch_theme(tab, theme)
                violations += [f"{page}, {theme}: {found}" for found in tab.evaluate(RUN_AXE)]
    assert not violations


@pytest.mark.parametrize("address", ["file"], indirect=True)
def test_a_gallery_shows_what_was_chosen(browser, address):
    with open_tab(browser) as tab:
        tab.goto(f"{address}/dataset.html")
        tab.get_by_role("combobox", name="Condition").select_option("noise")
        shown = tab.locator(".aor-clip:visible").evaluate_all(
            "cards => cards.map(card => card.dataset.condition)"
        )
    assert set(shown) == {"noise"}


@pytest.mark.parametrize("address", ["file"], indirect=True)
def test_without_scripts_the_players_and_the_numbers_remain(browser, address):
    with open_tab(browser, java_script_enabled=False) as tab:
        tab.goto(f"{address}/dataset.html")
        assert tab.locator("audio:visible").count() > 1
        chart = tab.locator(".aor-chart").first
        chart.locator("summary").click()
        assert chart.locator("td").first.is_visible()


def test_every_link_inside_the_book_leads_somewhere(html, pages):
    documents = {page: _Links((html / f"{page}.html").read_text("utf-8")) for page in pages}
    broken = []
    for page, document in documents.items():
        for link in document.links:
            target, fragment = urldefrag(link)
            if urlsplit(target).scheme:
                continue
            file = html / unquote(urlsplit(target).path) if target else html / f"{page}.html"
            known = documents.get(file.stem)
            if not file.exists() or (fragment and known and fragment not in known.anchors):
                broken.append(f"{page}: {link}")
    assert not broken


class _Links(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.add(values.get("id", ""))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
