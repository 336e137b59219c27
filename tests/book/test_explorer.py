import pytest

from aor_lib.stimuli.manifest import load_manifest
from benchmarks.explorer_study import book_of, serve, write_study
from tests.book.conftest import PHONE, axe_finds, both_ways, probe, switch_theme

pytestmark = pytest.mark.slow

CARDS = ".aor-explorer .aor-clip"
DRAWN = "document.querySelector('.aor-explorer').dataset.drawn === (location.hash || '#')"


@pytest.fixture
def page(tab, address):
    return lambda choice="": opened(tab, f"{address}/explorer.html#{choice}")


@pytest.fixture(scope="module")
def manifest(html):
    return load_manifest(html.parent)


@pytest.fixture(scope="module")
def large(html, tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    write_study(folder / "study", 3_000)
    with serve(book_of(folder / "study", html, folder / "book")) as address:
        yield f"{address}/explorer.html"


def opened(tab, link):
    """The explorer, once it shows what a link chooses."""
    tab.goto("about:blank")
    tab.goto(link)
    tab.wait_for_selector(".aor-explorer output", state="attached")
    return tab


def choose(tab, **choices):
    tab.locator(".aor-choice details").evaluate("more => { more.open = true }")
    for name, value in choices.items():
        tab.locator(f".aor-explorer [name={name}]").select_option(value)
    tab.wait_for_function(DRAWN)


def click(tab, role, name):
    tab.get_by_role(role, name=name).first.click()
    tab.wait_for_function(DRAWN)


def count(tab):
    """Numbers of chosen and of all stimuli that the page states."""
    words = tab.locator(".aor-explorer output").text_content().replace(",", "").split()
    return int(words[0]), int(words[2])


def shown(tab):
    seen = []
    while True:
        seen += tab.locator(CARDS).evaluate_all("cards => cards.map(card => card.dataset.stimulus)")
        if tab.locator(".aor-pages button").last.is_disabled():
            return seen
        tab.locator(".aor-pages button").last.click()
        tab.wait_for_function(DRAWN)


@both_ways
def test_every_stimulus_of_the_build_can_be_reached(page, manifest):
    tab = page("compare=gone")
    click(tab, "link", "Back to the cards")
    assert count(tab) == (len(manifest), len(manifest))
    assert shown(tab) == list(manifest["stimulus_id"])


@both_ways
def test_a_clip_loads_when_it_is_played_and_one_plays_at_a_time(page):
    tab = page()
    requested = set()
    tab.on("request", lambda one: requested.add(one.url) if ".flac" in one.url else None)
    choose(tab, condition="benign_scene")
    assert not requested
    for number, button in enumerate(tab.get_by_role("button", name="Play:").all()[:2], start=1):
        button.click()
        tab.wait_for_function(probe("isPlaying"))
        assert len(requested) == number
    tab.locator("[data-playing=true]").click()
    outline = tab.get_by_role("slider").first
    outline.click(position={"x": outline.bounding_box()["width"] * 0.6, "y": 5})
    tab.wait_for_function("!document.querySelector('.aor-explorer audio').paused")
    assert tab.locator(".aor-explorer audio").evaluate("audio => audio.currentTime") > 1


def test_keys_act_only_while_the_focus_is_in_the_explorer(page):
    tab = page()
    tab.keyboard.press("j")
    assert tab.evaluate("document.activeElement === document.body")
    tab.locator(CARDS).first.press("j")
    assert tab.locator(CARDS).nth(1).evaluate("card => card === document.activeElement")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_comparison_has_each_form_by_each_model_and_fits_a_phone(page, manifest, theme):
    forms = manifest[manifest["utterance_id"] == manifest["utterance_id"].iloc[0]]
    tab = page(f"compare={forms['utterance_id'].iloc[0]}")
    tab.wait_for_function(DRAWN)
    assert tab.evaluate("document.activeElement.matches('.aor-compare h2')")
    rows = tab.locator(".aor-compare tbody tr")
    names = rows.evaluate_all("rows => rows.map(row => row.dataset.stimulus)")
    assert names == list(forms["stimulus_id"])
    heads = rows.locator("th .aor-play").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert len(set(heads)) == forms["path"].notna().sum()
    for row, heard in zip(rows.all(), forms["path"].notna(), strict=True):
        assert row.locator("td .aor-label").count() == row.locator("td").count()
        assert row.locator("th .aor-play").count() == int(heard)
    tab.set_viewport_size(PHONE)
    switch_theme(tab, theme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert axe_finds(tab) == []


def test_what_a_model_said_is_text_and_never_markup(tab, large):
    tab.goto(f"{large}#intent=benign")
    tab.wait_for_selector(CARDS)
    title = tab.title()
    for place in (".aor-answers", ".aor-compare"):
        if place == ".aor-compare":
            click(tab, "link", "Compare")
        said = tab.locator(f"{place} .aor-said").all_text_contents()
        assert any("<img src=x onerror" in text for text in said)
        assert tab.locator(f"{place} :is(img, script, b)").count() == 0
    assert tab.title() == title


@pytest.mark.parametrize("lost", ["part-*", "index.js*"])
def test_data_that_do_not_load_are_said_so(tab, large, lost):
    tab.route(f"**/explorer/{lost}", lambda route: route.abort())
    tab.goto(large)
    assert "could not be loaded" in tab.get_by_role("alert").text_content()


def test_with_3000_stimuli_the_first_load_is_light(tab, large):
    sizes = []
    tab.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    tab.goto(large, wait_until="networkidle")
    assert sum(sizes) <= 3_000_000, sizes
