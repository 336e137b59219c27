"""The explorer of the built book, and of one with 3,000 stimuli, in Chromium."""

import pytest

from aor_lib.stimuli.manifest import load_manifest
from benchmarks.explorer_study import book_of, serve, write_study
from tests.book.conftest import AXE, RUN_AXE, both_ways, switch_theme

pytestmark = pytest.mark.slow

STIMULI = 3_000
CARDS = ".aor-explorer .aor-clip"
PLAYING = """document.querySelector(".aor-explorer audio").currentTime > 0.1
  && document.querySelectorAll("[data-playing=true]").length === 1"""


@pytest.fixture
def page(tab, address):
    """Opens the smoke book's explorer with a choice in its link."""

    def open_with(choice=""):
        tab.goto(f"{address}/explorer.html#{choice}")
        tab.wait_for_selector(".aor-explorer output", state="attached")
        return tab

    return open_with


@pytest.fixture(scope="module")
def large(html, tmp_path_factory):
    """Address of the explorer of a book with 3,000 stimuli."""
    folder = tmp_path_factory.mktemp("large")
    write_study(folder / "study", STIMULI)
    book = book_of(folder / "study", html, folder / "book")
    with serve(book) as address:
        yield f"{address}/explorer.html"


def choose(tab, **choices):
    tab.locator(".aor-choice details").evaluate("more => { more.open = true }")
    for name, value in choices.items():
        tab.locator(f".aor-explorer [name={name}]").select_option(value)
    drawn(tab)


def drawn(tab):
    tab.wait_for_function(
        "document.querySelector('.aor-explorer').dataset.drawn === (location.hash || '#')"
    )


def facts(tab, name):
    """The words of one fact on each of the cards that are shown."""
    return tab.locator(CARDS).evaluate_all(
        """(cards, name) => cards.map(card => [...card.querySelectorAll("dl div")]
          .find(fact => fact.querySelector("dt").textContent === name)
          ?.querySelector("dd").textContent)""",
        name,
    )


def count(tab):
    """The two numbers of "so many of so many stimuli"."""
    words = tab.locator(".aor-explorer output").text_content().replace(",", "").split()
    return int(words[0]), int(words[2])


@both_ways
def test_every_stimulus_of_the_build_can_be_reached(page, html):
    tab = page()
    n = len(load_manifest(html.parent))
    assert count(tab) == (n, n)
    seen = []
    while True:
        seen += tab.locator(CARDS).evaluate_all("cards => cards.map(card => card.dataset.stimulus)")
        if tab.get_by_role("button", name="Next", exact=True).is_disabled():
            break
        tab.get_by_role("button", name="Next", exact=True).click()
        drawn(tab)
    assert seen == list(load_manifest(html.parent)["stimulus_id"])


def test_a_choice_shows_what_fits_and_is_kept_in_the_link(page, html):
    tab = page()
    choose(tab, condition="noise", intent="benign")
    manifest = load_manifest(html.parent)
    fits = (manifest["condition"] == "noise") & (manifest["intent"] == "benign")
    assert count(tab) == (fits.sum(), len(manifest))
    assert set(facts(tab, "Condition")) == {"Spectrum-matched noise"}
    assert "condition=noise" in tab.url
    tab.reload()
    tab.wait_for_selector(".aor-explorer output")
    assert set(facts(tab, "Condition")) == {"Spectrum-matched noise"}
    assert count(tab) == (fits.sum(), len(manifest))


def test_answers_with_the_label_that_was_chosen_stand_first(page):
    tab = page("intent=pseudo_harmful&label=full_refusal")
    for card in tab.locator(".aor-clip").all():
        label = card.locator(".aor-answers .aor-label").first
        assert label.get_attribute("data-label") == "full_refusal"


def test_the_way_back_undoes_a_choice(page):
    tab = page()
    every = count(tab)
    choose(tab, condition="noise")
    tab.locator(".aor-explorer [name=q]").press_sequentially("xyzzy")
    drawn(tab)
    assert count(tab)[0] == 0
    tab.go_back()
    drawn(tab)
    assert set(facts(tab, "Condition")) == {"Spectrum-matched noise"}
    tab.go_back()
    drawn(tab)
    assert count(tab) == every
    assert tab.locator("[name=condition]").input_value() == ""


def test_the_number_behind_a_choice_is_how_many_it_leaves(page):
    tab = page("intent=pseudo_harmful")
    options = tab.locator("[name=label] option:not([disabled])").evaluate_all(
        "options => options.map(option => [option.value, option.textContent])"
    )
    for label, words in options[1:]:
        choose(tab, label=label)
        assert words.endswith(f"({count(tab)[0]:,})")
        assert tab.locator(f".aor-label[data-label={label}]").count()


@both_ways
def test_a_clip_loads_when_it_is_played_and_one_plays_at_a_time(page):
    tab = page()
    requested = []
    tab.on("request", lambda request: requested.append(request.url))
    choose(tab, condition="benign_scene")
    first, second = tab.get_by_role("button", name="Play:").all()[:2]
    assert not [url for url in requested if ".flac" in url]
    for number, button in enumerate((first, second), start=1):
        button.click()
        tab.wait_for_function(PLAYING)
        assert len({url for url in requested if ".flac" in url}) == number
    tab.wait_for_function("""() => {
      document.querySelector("[data-playing=true]").click();
      return document.querySelector(".aor-explorer audio").paused;
    }""")


@both_ways
def test_a_click_on_the_outline_plays_from_there(page):
    tab = page("condition=benign_scene")
    outline = tab.get_by_role("slider").first
    outline.click(position={"x": outline.bounding_box()["width"] * 0.6, "y": 5})
    tab.wait_for_function("!document.querySelector('.aor-explorer audio').paused")
    assert tab.locator(".aor-explorer audio").evaluate("audio => audio.currentTime") > 1


def test_the_keys_search_walk_and_play(page):
    tab = page()
    tab.keyboard.press("/")
    tab.keyboard.type("speech_only")  # letters that are typed are not keys
    drawn(tab)
    tab.keyboard.press("Enter")
    position = "[...document.querySelectorAll('.aor-clip')].indexOf(document.activeElement)"
    assert tab.evaluate(position) == 0
    tab.keyboard.press("j")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate(position) == 2
    tab.keyboard.press("k")
    assert tab.evaluate(position) == 1
    tab.keyboard.press("Space")
    tab.wait_for_function(PLAYING)
    tab.keyboard.press("k")
    tab.keyboard.press("Space")
    tab.locator(".aor-clip").nth(0).get_by_role("button", name="Pause:").wait_for()
    for _ in range(tab.locator(".aor-clip").count()):
        tab.keyboard.press("j")
    drawn(tab)
    tab.wait_for_function(f"{position} === 0")
    assert "page=2" in tab.url
    tab.keyboard.press("k")
    tab.wait_for_function(f"{position} === 11")
    assert "page" not in tab.url


def test_a_link_to_what_this_build_does_not_have_shows_nothing_and_says_of_what(page):
    tab = page("model=another-model")
    assert count(tab)[0] == 0
    assert tab.locator("[name=model]").input_value() == "another-model"
    tab.get_by_role("button", name="Clear").click()
    drawn(tab)
    assert count(tab)[0] == count(tab)[1]


def test_answers_under_a_mitigation_are_shown_if_they_are_asked_for(page):
    tab = page()
    assert tab.locator(".aor-mitigation").count() == 0
    choose(tab, mitigation="any", condition="benign_scene", block="core")
    assert tab.locator(".aor-mitigation").count() > 0


def test_each_mistake_to_begin_with_names_a_model_and_leaves_a_handful(page):
    tab = page()
    links = tab.locator(".aor-presets a").all()
    assert links
    for link in links:
        link.click()
        drawn(tab)
        model = tab.locator("[name=model] option:checked").text_content().rpartition(" (")[0]
        assert link.text_content().startswith(model)
        assert 1 <= count(tab)[0] <= 12
        assert link.text_content().endswith(f"{count(tab)[0]})")
        assert tab.locator(".aor-answers .aor-label").first.get_attribute("data-verdict") == "wrong"


def test_a_link_compares_a_request_in_each_form_by_each_model(page, html):
    manifest = load_manifest(html.parent)
    forms = manifest[manifest["utterance_id"] == manifest["utterance_id"].iloc[0]]
    tab = page(f"compare={forms['utterance_id'].iloc[0]}")
    drawn(tab)
    assert tab.evaluate("document.activeElement.matches('.aor-compare h2')")
    rows = tab.locator(".aor-compare tbody tr")
    names = rows.evaluate_all("rows => rows.map(row => row.dataset.stimulus)")
    assert names == list(forms["stimulus_id"])
    for row, heard in zip(rows.all(), forms["path"].notna(), strict=True):
        cells = row.locator("td").count()
        assert row.locator("td .aor-label").count() == cells
        assert row.locator("th .aor-play").count() == (1 if heard else 0)
    tab.locator(".aor-compare th .aor-play").nth(1).click()
    tab.wait_for_function(PLAYING)


def test_the_keyboard_alone_leads_to_a_comparison_plays_it_and_leads_back(page):
    tab = page("condition=benign_scene&intent=pseudo_harmful")
    tab.get_by_role("link", name="Compare").nth(1).focus()
    tab.keyboard.press("Enter")
    drawn(tab)
    tab.wait_for_function("document.activeElement.matches('.aor-compare h2')")
    while not tab.evaluate("document.activeElement.matches('.aor-compare .aor-play')"):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    tab.wait_for_function(PLAYING)
    tab.get_by_role("link", name="Back to the cards").focus()
    tab.keyboard.press("Enter")
    drawn(tab)
    tab.wait_for_function("document.activeElement.matches('.aor-clip')")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_comparison_fits_a_phone_and_axe_finds_nothing_serious(page, html, theme):
    tab = page(f"compare={load_manifest(html.parent)['utterance_id'].iloc[0]}")
    tab.set_viewport_size({"width": 390, "height": 844})
    switch_theme(tab, theme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.evaluate((html / AXE).read_text("utf-8"))
    assert tab.evaluate(RUN_AXE, None) == []


def test_what_a_model_said_is_text_and_never_markup(tab, large):
    tab.goto(f"{large}#intent=benign")
    tab.wait_for_selector(CARDS)
    title = tab.title()
    said = tab.locator(".aor-said").all_text_contents()
    assert any("<img src=x onerror" in text for text in said)
    tab.get_by_role("link", name="Compare").first.click()
    drawn(tab)
    compared = tab.locator(".aor-compare .aor-said").all_text_contents()
    assert any("<img src=x onerror" in text for text in compared)
    assert tab.locator(":is(.aor-answers, .aor-compare) :is(img, script, b)").count() == 0
    assert tab.title() == title


def test_data_that_do_not_load_are_said_so(tab, large):
    tab.route("**/explorer/part-*", lambda route: route.abort())
    tab.goto(large)
    tab.get_by_role("alert").wait_for()
    assert "could not be loaded" in tab.get_by_role("alert").text_content()
    tab.route("**/explorer/index.js", lambda route: route.abort())
    tab.reload()
    tab.get_by_role("alert").wait_for()
    assert "index.js could not be loaded" in tab.get_by_role("alert").text_content()


def test_with_3000_stimuli_the_first_load_is_light(tab, large):
    sizes = []
    tab.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    tab.goto(large, wait_until="networkidle")
    assert sum(sizes) <= 3_000_000, sizes
