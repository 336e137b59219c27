import json
import re

import pandas as pd
import pytest

from aor_lib.report import charts, figures, style

RATES = pd.DataFrame(
    {
        "model": ["ref-permissive", "ref-contextual"],
        "condition": ["matched", "matched"],
        "judged": [10, 10],
        "refused": [1, 1],
        "rate": [0.1, 0.1],
        "low": [0.02, 0.02],
        "high": [0.4, 0.4],
    }
)


def test_nothing_in_the_data_can_close_the_script_element_or_open_a_tag():
    attack = "</script><script>alert(1)</script><!--"
    frame = RATES.assign(condition=attack)
    html = figures.show(
        charts.rate_points(frame, "condition", axis="Rate"), attack, f'"{attack}'
    ).html()
    assert html.count("<script") == html.count("</script>") == 1
    assert "<!--" not in html
    spec = json.loads(re.search(r"<script[^>]*>(.*?)</script>", html, re.DOTALL).group(1))
    assert attack in json.dumps(spec)


def test_a_figure_serves_jupyterlab_the_book_and_readers_without_scripts():
    figure = figures.show(
        charts.rate_points(RATES, "condition", axis="Rate"), "Rates", "Two models."
    )
    bundle = figure._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v6+json"]["width"] == "container"
    assert 'aria-label="Two models."' in bundle["text/html"]
    assert "<td>40.0%</td>" in bundle["text/html"]


def test_a_rate_in_words_says_its_interval_and_counts():
    row = RATES.iloc[0]
    assert figures.interval(row) == ("10.0% (95% interval 2.0% to 40.0%; 1 of 10 judged answers)")
    assert figures.interval({"judged": 0}) == "no judged answer"


def test_a_difference_in_words_is_in_points_and_signed():
    assert figures.points(-0.032) == "\N{MINUS SIGN}3.2 points"
    assert figures.points(0.1) == "+10.0 points"


@pytest.mark.parametrize(
    ("rates", "words"), [([0.1, 0.1001], "10.0%"), ([0.25, 0.1], "10.0% to 25.0%")]
)
def test_a_span_of_rates_that_look_the_same_is_one_number(rates, words):
    assert figures.span(pd.Series(rates)) == words


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("context_reminder.control", "Context reminder: control"),
        ("gpt-4.1-mini", "Gpt-4.1-mini"),
        ("speech_only", "Speech only"),
    ],
)
def test_an_id_is_shown_in_words(name, title):
    assert style.title_of(name) == title


def test_odds_beyond_a_thousandfold_are_not_spelled_out():
    assert figures.odds(4.0) == "4"
    assert figures.odds(0.25) == "0.25"
    assert figures.odds(float("inf")) == figures.odds(1e300) == "over 1,000"
    assert figures.odds(0.0) == "under 0.001"
