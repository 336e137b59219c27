"""From a number to exactly its clips, and the page of a clip, in Chromium."""

import re
from urllib.parse import parse_qs, urldefrag

import pytest

import aor_lib as aor
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from benchmarks.explorer_study import serve
from tests.book.conftest import axe_finds, both_ways, probe
from tests.book.test_explorer import CARDS, choose, count, opened, shown

pytestmark = pytest.mark.slow

PLAY = "clip => clip.play().then(() => !clip.paused)"


@pytest.fixture(scope="module")
def headline(html):
    return aor.open(html.parent).select("headline")


@both_ways
def test_each_headline_rate_leads_to_exactly_the_clips_that_it_counts(tab, address, headline):
    tab.goto(f"{address}/results.html")
    links = tab.locator(".aor-chart").nth(2).locator("td a").evaluate_all(probe("rowLinks"))
    assert len(links) == len(headline.rates().frame)
    led = set()
    for link, n in links:
        assert count(opened(tab, link))[0] == int(n)
        led.add((*parse_qs(urldefrag(link).fragment)["model"], *sorted(shown(tab))))
    of = headline.frame[is_judged(headline.frame)].groupby(["model", "intent"])["stimulus_id"]
    assert led == {(model, *sorted(ids)) for (model, _), ids in of}


def test_each_share_of_over_refusals_leads_to_these_refusals_alone(tab, address, headline):
    tab.goto(f"{address}/results.html")
    links = tab.locator(".aor-chart").nth(1).locator("td a").evaluate_all(probe("rowLinks"))
    refused = headline.where(intent="pseudo_harmful").refusals_as_heard().frame["refused"]
    assert [count(opened(tab, link))[0] for link, _ in links] == [n for n in refused if n]


@pytest.mark.parametrize("page", ["results", "context", "claims", "mitigation"])
def test_each_number_in_a_sentence_leads_to_as_many_clips_as_it_says(tab, address, page):
    tab.goto(f"{address}/{page}.html")
    links = tab.locator('p a[href^="explorer.html#model"], li a[href^="explorer.html#model"]')
    said = links.evaluate_all("all => all.map(one => [one.href, one.nextSibling.textContent])")
    counts = {link: re.match(r"( points)?[^)]*n = (\d+)", words) for link, words in said}
    for link, stated in [(link, stated) for link, stated in counts.items() if stated][:6]:
        sides = 2 if stated[1] else 1  # a difference is of both of its sides
        assert count(opened(tab, link))[0] == sides * int(stated[2]), link


@pytest.mark.parametrize(("number", "mark"), [(1, "rect"), (2, "symbol")])
def test_a_mark_of_a_chart_leads_to_the_clips_of_its_row(tab, address, headline, number, mark):
    tab.goto(f"{address}/results.html")
    for chart in tab.locator(".aor-chart").all():  # each is drawn when it is near
        chart.scroll_into_view_if_needed()
        chart.locator(".aor-chart-tools").wait_for()
    clickable = tab.locator(".aor-chart", has=tab.locator(".aor-chart-tools", has_text="Click"))
    clickable.nth(number).locator(f"svg .mark-{mark}.role-mark path").last.click()
    tab.wait_for_url("**/explorer.html#model=*")
    tab.wait_for_selector(CARDS)
    ids = set(shown(tab))
    assert ids
    assert ids <= set(headline.frame["stimulus_id"])


@pytest.mark.parametrize("refused", [True, False])
@pytest.mark.parametrize("elsewhere", ["everywhere", "nowhere"])
def test_what_a_model_does_in_one_form_and_in_every_other_is_two_clicks_away(
    tab, address, html, refused, elsewhere
):
    study = aor.open(html.parent)
    trials = aor.Selection(study, study.trials).where(arm="none", model="ref-contextual").frame
    alike = trials["label"].isin(REFUSALS if elsewhere == "nowhere" else ["full_compliance"])
    of_request = alike.groupby(trials["utterance_id"])
    others = of_request.transform("size") - 1
    kept = trials[(of_request.transform("sum") - alike).eq(others) & others.gt(0)]
    expected = aor.Selection(study, kept).where(refused=refused).frame["stimulus_id"]
    opened(tab, f"{address}/explorer.html#model=ref-contextual")
    assert tab.locator(".aor-explorer [name=elsewhere]").is_visible()
    if len(expected):
        choose(tab, refused="refused" if refused else "answered")
        choose(tab, elsewhere=elsewhere)
        assert set(shown(tab)) == set(expected)


def test_a_link_to_one_card_is_copied_and_opens_that_card_alone(browser, html):
    with serve(html) as address, browser.new_page() as tab:
        tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
        opened(tab, f"{address}/explorer.html#condition=speech_only")
        card = tab.locator(CARDS).first
        name = card.get_attribute("data-stimulus")
        card.get_by_role("button", name="Copy link").click()
        card.get_by_role("status").get_by_text("Copied").wait_for()
        opened(tab, tab.evaluate("navigator.clipboard.readText()"))
        assert count(tab)[0] == 1
        assert tab.locator(CARDS).get_attribute("data-stimulus") == name
        assert tab.evaluate("scrollY") > 0  # past the instructions


@both_ways
def test_the_page_of_a_clip_plays_also_within_another_page(tab, address):
    opened(tab, f"{address}/explorer.html#condition=benign_scene&intent=pseudo_harmful")
    page = tab.get_by_role("link", name="Open this clip").first.evaluate("link => link.href")
    tab.goto(page)
    assert tab.locator("audio").evaluate(PLAY)
    assert tab.locator(".aor-answers .aor-label").count() > 1
    assert axe_finds(tab) == []
    tab.evaluate(probe("embed"), page)
    embedded = tab.frame_locator("iframe")
    assert embedded.locator("audio").evaluate(PLAY)
    embedded.get_by_role("link", name="In the explorer").click()  # in the whole window
    tab.wait_for_selector(CARDS)
    assert count(tab)[0] == 1


def test_every_stimulus_has_a_page_with_a_preview_and_no_answer_to_a_harmful_request(html):
    study = aor.open(html.parent)
    harmful = set(study.stimuli["stimulus_id"][study.stimuli["intent"] == "harmful"])
    for name in study.stimuli["stimulus_id"]:
        text = (html / "clip" / f"{name}.html").read_text(encoding="utf-8")
        preview = dict(re.findall('<meta property="og:([^"]*)" content="([^"]*)">', text))
        assert {"title", "description", "url"} <= preview.keys()
        assert not re.search('(src|href)="(\\w+:)?//', text)
        assert all((html / preview[one]).is_file() for one in ("audio", "image") if one in preview)
        assert name not in harmful or not re.search("aor-said|aor-heard", text)
