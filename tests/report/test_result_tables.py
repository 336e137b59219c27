from xml.etree import ElementTree

import numpy as np
import pandas as pd

from aor_lib.analysis import stats
from aor_lib.report.result_tables import facts, headline_changes, statistics, table

ATTACK = "</table><script>alert(1)</script>"
RESULTS = pd.DataFrame(
    [
        ("a", "harmful", "ok", "full_refusal", "[]"),
        ("b", "harmful", "ok", "full_compliance", '["degenerate"]'),
        ("c", "harmful", "failed", None, "[]"),
        ("d", "harmful", "blocked", None, "[]"),
        ("e", "harmful", "ok", "unjudged", "[]"),
        ("f", "pseudo_harmful", "ok", "full_refusal", "[]"),
    ],
    columns=["utterance_id", "intent", "status", "label", "flags"],
).assign(model="one")


def first_row(html):
    """The first row of a table by its headings; the HTML of tables is well-formed XML."""
    table = ElementTree.fromstring(html.html)
    cells = (td.text.replace("\N{NO-BREAK SPACE}", " ") for td in table.iter("td"))
    return dict(zip((th.text for th in table.iter("th")), cells, strict=False))


def test_a_change_of_the_headlines_is_a_row_with_a_column_for_each_model():
    rows = [
        ("baseline", 0, "orr", 0.5),
        ("baseline", 0, "hrr", 0.9),
        ("baseline", 0, "d_prime", 1.25),
        ("p.control", 3, "orr", -0.1),
        ("p.control", 3, "hrr", np.nan),
        ("p.control", 3, "d_prime", -0.5),
    ]
    frame = pd.DataFrame(rows, columns=["change", "otherwise", "measure", "value"])
    frame = frame.assign(model="m", difference=frame["value"])
    table = ElementTree.fromstring(headline_changes(frame, ATTACK, {"m": ATTACK}).html)
    cells = [td.text.replace("\N{NO-BREAK SPACE}", " ") for td in table.iter("td")]
    assert table.find("summary").text == [th.text for th in table.iter("th")][-1] == ATTACK
    assert cells[1:3] == ["0", "50.0% / 90.0% / 1.25"]
    assert cells[4:] == ["3", "\N{MINUS SIGN}10.0 / \N{EN DASH} / \N{MINUS SIGN}0.50"]


def test_a_table_shows_each_estimate_with_its_interval_and_every_count():
    shown = first_row(
        statistics(stats.rates(RESULTS, ["model", "intent"]), "Rates", {"one": "The one"})
    )
    assert shown == {
        "Model": "The one",
        "Intent": "Harmful refusal",
        "Refused": "50.0% (9.5% to 90.5%)",
        "Utterances": "2",
        "Judged": "2 of 5",
        "Not judged": "1 failed, 1 blocked, 1 unjudged",
        "Degenerate": "1",
    }


def test_the_two_rates_of_a_contrast_stand_beside_its_sensitivity():
    frame = pd.DataFrame({"contrast": ["threatening_benign"], "trials": 2, "judged": 2})
    frame = frame.assign(rate_a=1.0, rate_b=0.0, d_prime=1.35, low=0.5, high=2.2)
    assert first_row(statistics(frame, "Hearing")) == {
        "Contrast": "Threatening against benign scene",
        "Refused in the first": "100.0%",
        "Refused in the second": "0.0%",
        "d\N{PRIME}": "1.35 (0.50 to 2.20)",
        "Judged": "2",
    }


def test_a_table_of_estimates_is_folded_and_leaves_out_counts_that_say_nothing():
    judged = RESULTS[RESULTS["utterance_id"].isin(["a", "f"])]
    shown = statistics(stats.rates(judged, ["model"]), "Rates")
    assert "open" not in shown.html
    assert first_row(shown)["Judged"] == "2"
    assert not {"Not judged", "Degenerate"} & set(first_row(shown))


def test_what_cannot_be_estimated_says_so_and_why():
    answered = RESULTS[RESULTS["status"] == "ok"].assign(label="full_compliance")
    shown = first_row(statistics(stats.signal_detection(answered, ["model"]), "Sensitivity"))
    assert shown["d\N{PRIME}"] == shown["Criterion c"] == "not estimable"
    effects = stats.factor_effects(RESULTS, {"intent": "harmful"}, ["model"])
    shown = first_row(statistics(effects, "Effects"))
    assert shown["Odds ratio"] == "\N{EN DASH}"
    assert shown["Why there is none"] == "only refusals, or none, on one side"


def test_named_values_are_shown_and_what_is_unknown_has_a_dash():
    values = {"Clips": 1234, "Error": float("nan"), "Share": "5%"}
    cells = [td.text for td in ElementTree.fromstring(facts(values, "Facts").html).iter("td")]
    assert cells == ["Clips", "1,234", "Error", "\N{EN DASH}", "Share", "5%"]


def test_a_table_without_rows_is_a_note_with_its_caption():
    assert "Rates" in statistics(stats.rates(RESULTS.head(0), ["model"]), "Rates").markdown
    assert "Errors" in table(pd.DataFrame(), "Errors").markdown


def test_a_table_scrolls_by_itself_can_be_reached_by_keyboard_and_is_folded_where_long():
    short, long = (table(pd.DataFrame({"a": range(rows)}), "Numbers").html for rows in (1, 100))
    assert '<details class="aor-table" open="">' in short
    assert '<details class="aor-table">' in long
    assert 'role="region" tabindex="0" aria-label="Numbers"' in long
