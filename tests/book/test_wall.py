import pytest

import aor_lib as aor
from tests.book.conftest import axe_finds, both_ways, probe, switch_theme
from tests.book.test_book import watched

pytestmark = pytest.mark.slow

SQUARE, TOLD = ".aor-wall [role=gridcell]", ".aor-wall-line [role=status] >> nth=0"


@pytest.fixture
def wall(tab, address):
    problems = watched(tab, address)
    tab.goto(f"{address}/wall.html")
    tab.wait_for_selector(SQUARE)
    yield tab
    assert problems == []


@pytest.fixture(scope="module")
def context(html):
    return aor.open(html.parent).select("context")


@both_ways
def test_the_wall_is_walked_and_played_by_keyboard_and_says_what_each_square_is(wall):
    wall.locator(".aor-wall-legend button").last.focus()
    told = []
    for key in ("Tab", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "End", "Home"):
        wall.keyboard.press(key)
        switch_theme(wall, "dark")  # draws the wall again
        assert wall.evaluate("document.activeElement.role") == "gridcell"
        assert wall.text_content(TOLD) == wall.get_attribute(SQUARE, "aria-label")
        told.append(wall.text_content(TOLD))
    first, right, down, up, left, end, home = told
    assert len({first, right, down, end}) == 4
    assert (up, left, home) == (right, first, first)
    assert axe_finds(wall) == []
    wall.keyboard.press("Enter")
    wall.wait_for_function(probe("isPlaying"))
    wall.keyboard.press("Space")
    assert wall.locator("audio").evaluate("audio => audio.paused")


@both_ways
def test_a_click_plays_a_square_and_a_link_leads_to_the_page_of_its_clip(wall, context):
    wall.locator(SQUARE).click(force=True, position={"x": 3, "y": 3})  # it is the canvas that hears
    wall.wait_for_function(probe("isPlaying"))
    said = wall.text_content(TOLD)
    wall.get_by_role("link", name="Open this clip").click()
    wall.wait_for_selector(".aor-clip audio")
    name = wall.url.rpartition("/")[2].removesuffix(".html")
    assert said.startswith(f"“{context.where(stimulus_id=name).frame['text'].iloc[0]}”")


def test_choices_keep_the_counts_of_the_study_and_stay_in_the_link(wall, context):
    def shown_are(trials):
        of = ["full_compliance", "partial_refusal", "full_refusal"]
        known = trials.frame["label"].value_counts().reindex(of, fill_value=0).tolist()
        wall.wait_for_function(probe("countsAre"), arg=[*known, len(trials.frame) - sum(known)])
        return known[2], len(trials.frame)

    shown_are(context.where(intent="pseudo_harmful"))
    wanted = {name: context.frame[name].iloc[-1] for name in ("model", "scenario", "intent")}
    for name, value in wanted.items():
        wall.locator(f".aor-wall [name={name}]").select_option(value)
    refused, n = shown_are(context.where(**wanted))
    wall.locator(SQUARE).press("Enter")
    wall.wait_for_function(probe("isPlaying"))
    wall.locator(".aor-wall-legend button").nth(1).click()  # no square is left
    wall.wait_for_function("document.querySelector('.aor-wall').dataset.drawn === location.hash")
    assert wall.locator("audio").evaluate("audio => audio.paused")
    assert wall.get_by_role("link", name="Open this clip").is_hidden()
    wall.locator(".aor-wall-legend button").nth(2).click()
    wall.get_by_text(f"{refused} of {n} answers").wait_for()
    wall.reload()
    wall.get_by_text(f"{refused} of {n} answers").wait_for()
    wall.evaluate("location.hash = 'model=gone&answer=gone'")
    shown_are(context.where(intent="pseudo_harmful"))


def test_what_nobody_was_asked_is_a_gap(wall, html):
    counts = wall.locator(".aor-wall-legend b").all_text_contents()
    index = (html / "explorer/index.js").read_text("ascii").replace("full_refusal", "missing")
    wall.route("**/explorer/index.js*", lambda route: route.fulfill(body=index))
    wall.reload()
    wall.wait_for_function(probe("countsAre"), arg=[*counts[:2], 0, counts[3]])
