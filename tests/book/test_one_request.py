"""The request that the first page plays in four forms, and the clip that Methods cuts open."""

import pytest

import aor_lib as aor
from book._ext.one_request import DID, answered_in_all_forms
from tests.book.conftest import both_ways
from tests.book.test_links import PLAY

pytestmark = pytest.mark.slow

PLAYING = """[...document.querySelectorAll("audio")]
  .filter((one) => !one.paused && one.currentTime > 0.5)
  .map((one) => one.closest("section").ariaLabel).join()"""


@both_ways
def test_the_first_page_plays_a_request_in_four_forms_with_what_models_did(tab, address, html):
    answers = answered_in_all_forms(aor.open(html.parent))
    tab.goto(f"{address}/index.html")
    forms = tab.locator(".aor-form").all()
    assert [form.locator("audio").evaluate(PLAY) for form in forms] == [True] * 4
    said = tab.locator(".aor-form .aor-marks b").all_text_contents()
    assert said == [DID[label] for label in answers["label"]]


@both_ways
def test_the_slider_changes_the_level_of_the_scene_and_the_sound_goes_on_where_it_was(tab, address):
    tab.goto(f"{address}/methods.html")
    level = tab.locator(".aor-cut-level:visible")
    slider = tab.locator(".aor-cut").get_by_role("slider")
    before = level.get_attribute("aria-label")
    level.locator("audio").evaluate(PLAY)
    tab.wait_for_function(f"{PLAYING} === {before!r}")
    slider.press("ArrowRight")
    tab.wait_for_function(f"{PLAYING} && {PLAYING} !== {before!r}")
    names = level.get_attribute("aria-label"), slider.get_attribute("aria-valuetext")
    assert names == (tab.evaluate(PLAYING),) * 2
