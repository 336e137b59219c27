"""The wall of answers, in Chromium."""

import pytest

import aor_lib as aor
from tests.book.conftest import axe_finds, both_ways, probe

pytestmark = pytest.mark.slow

SQUARE = ".aor-wall [role=gridcell]"
LEGEND = ".aor-wall-legend b"
DRAWN = "document.querySelector('.aor-wall').dataset.drawn === (location.hash || '#')"
ANSWERS = ["full_compliance", "partial_refusal", "full_refusal"]


@pytest.fixture
def wall(tab, address):
    tab.goto(f"{address}/wall.html")
    tab.wait_for_selector(SQUARE)
    return tab


@pytest.fixture(scope="module")
def context(html):
    return aor.open(html.parent).select("context")


def counts(tab):
    """Numbers of the legend: complied, partially refused, refused, and neither."""
    tab.wait_for_function(DRAWN)
    return [int(text.replace(",", "")) for text in tab.locator(LEGEND).all_text_contents()]


def expected(trials):
    labels = trials.frame["label"].value_counts()
    known = [int(labels.get(label, 0)) for label in ANSWERS]
    return [*known, len(trials.frame) - sum(known)]


@both_ways
def test_the_wall_is_reached_and_played_by_keyboard_and_says_what_each_square_is(wall):
    wall.locator(".aor-wall-legend button").last.focus()
    wall.keyboard.press("Tab")
    wall.wait_for_function("document.activeElement.matches('.aor-wall [role=gridcell]')")
    told = {wall.locator(".aor-wall-line [role=status]").first.text_content()}
    for key in ("ArrowRight", "ArrowDown", "End", "Home"):
        wall.keyboard.press(key)
        said = wall.locator(".aor-wall-line [role=status]").first.text_content()
        assert said == wall.locator(SQUARE).get_attribute("aria-label")
        told.add(said)
    assert len(told) > 3
    assert axe_finds(wall) == []
    wall.keyboard.press("Enter")
    wall.wait_for_function(probe("isPlaying"))
    wall.keyboard.press("Space")
    assert wall.locator(".aor-wall audio").evaluate("audio => audio.paused")


@both_ways
def test_a_click_plays_a_square_and_links_to_the_page_of_its_clip(wall, html, context):
    canvas = wall.locator(".aor-wall canvas")
    box, square = canvas.bounding_box(), wall.locator(SQUARE).bounding_box()
    canvas.click(position={"x": square["x"] - box["x"] + 2, "y": square["y"] - box["y"] + 2})
    wall.wait_for_function(probe("isPlaying"))
    said = wall.locator(".aor-wall-line [role=status]").first.text_content()
    wall.get_by_role("link", name="Page of this clip").click()
    wall.wait_for_selector(".aor-clip audio")
    name = wall.url.rpartition("/")[2].removesuffix(".html")
    trials = context.where(stimulus_id=name).frame
    assert f"“{trials['text'].iloc[0]}”" in said


def test_filters_keep_the_counts_of_the_study_and_stay_in_the_link(wall, context):
    trials = context.where(intent="pseudo_harmful")
    assert counts(wall) == expected(trials)
    for name in ("model", "scenario"):
        value = trials.frame[name].iloc[-1]
        wall.locator(f".aor-wall [name={name}]").select_option(value)
        trials = trials.where(**{name: value})
        assert counts(wall) == expected(trials)
    wall.locator(".aor-wall [name=intent]").select_option("harmful")
    harmful = context.where(intent="harmful", model=value_of(trials, "model"))
    harmful = harmful.where(scenario=value_of(trials, "scenario"))
    assert counts(wall) == expected(harmful)
    wall.locator(".aor-wall-legend button", has_text="Refused").last.click()
    assert wall.locator("output").text_content().startswith(f"{expected(harmful)[2]} of ")
    wall.reload()
    wall.wait_for_selector(SQUARE)
    assert counts(wall) == expected(harmful)
    assert wall.locator("[aria-pressed=true]").count() == 1


def value_of(trials, column):
    return trials.frame[column].iloc[0]
