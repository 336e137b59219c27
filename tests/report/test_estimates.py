from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest

from aor_lib.analysis.heard import HEARD
from aor_lib.report.estimates import Estimates, SelectionError
from aor_lib.report.selection import Selection
from aor_lib.report.style import NEUTRAL, title_of
from tests.report.conftest import data_of, estimates_of, marks_of

MODELS = ["ref-contextual", "evil"]
CONDITIONS = ["benign_scene", "speech_only", "noise"]


def test_estimates_are_a_forest_plot_with_their_table_and_differences_a_line_at_zero(differences):
    figure = estimates_of(model=MODELS, condition=CONDITIONS).plot("Refused in each condition")
    assert marks_of(figure) == ["rule", "point"]
    rows = {row["row"] for row in data_of(figure)}
    assert rows == {"Benign scene", "Speech only", "Spectrum-matched noise"}
    assert figure.numbers["Refused"][0] == "30.0% (20.0% to 40.0%)"
    assert figure.description == "6 estimates with 95% intervals, from 30.0% to 35.0%."
    figure = differences.plot("Against the benign scene")
    assert marks_of(figure) == ["rule", "rule", "point"]
    assert "Speech only" in {row["row"] for row in data_of(figure)}  # and not the only baseline


def test_estimates_over_a_number_are_lines_with_a_band_in_a_figure_for_each_facet():
    rates = estimates_of(model=MODELS, intent=["harmful", "benign"], snr_db=[-5.0, 0.0, 5.0])
    figures = rates.plot("Refused", x="snr_db", facet="model")
    assert [marks_of(figure) for figure in figures] == [["area", "line", "point"]] * 2
    assert [one.title.partition(": ")[0] for one in figures] == ["Reference models", "Refused"]
    assert {row["intent"] for row in data_of(figures[0])} == {"Harmful", "Benign"}


def test_two_rates_a_row_are_points_in_the_plane_of_both():
    numbers = {"": 0.5, "_low": 0.4, "_high": 0.6}
    frame = pd.DataFrame({"model": ["a"], "arm": ["none"], "mitigation": ["none"]})
    frame = frame.assign(**{f"{m}{end}": n for m in ("orr", "hrr") for end, n in numbers.items()})
    both = Estimates(frame, ("model", "arm", "mitigation"), "hrr")
    figure = both.plot("Harmful refusal against over-refusal")
    assert marks_of(figure) == ["line", "rule", "rule", "point"]
    assert both.rows()["Over-refusal"].tolist() == ["50.0% (40.0% to 60.0%)"]
    assert both.rows().shape == (1, 5)
    text = replace(both, clips=lambda row: f"explorer.html#{row['intent']}").sentences().markdown
    assert text.index("#pseudo_harmful") < text.index("#harmful")


def test_shares_of_one_rate_are_stacked_in_their_order_with_unknown_ones_in_grey():
    figure = estimates_of("share", model=MODELS, heard_as=HEARD[::-1]).plot("Refused as heard")
    assert marks_of(figure) == ["bar"]
    kinds = {row["place"]: row["heard_as"] for row in data_of(figure)}
    assert [kinds[place] for place in range(len(HEARD))] == [title_of(kind) for kind in HEARD]
    assert figure.spec["encoding"]["color"]["scale"]["range"][-1] == NEUTRAL


def test_what_has_no_estimate_says_so_itself(differences):
    none = differences.where(model="nobody")
    for shown in (none.plot("Changes"), none.table("Changes"), none.sentences()):
        assert "Nothing to show" in str(shown)
    assert "Change in refusal" in none._repr_html_()
    missing = Estimates(none.frame.reindex([0]), none.keys, "difference")
    assert "Nothing to show" in str(missing.plot("Changes"))


def test_untrusted_titles_are_escaped_in_every_form(differences):
    figure = differences.plot("Changes")
    assert "<script>*" not in figure.html + differences._repr_html_()
    assert "\\u003cscript>" in figure.html
    for estimates in (differences, estimates_of(model=MODELS)):
        assert "\\<script\\>\\*evil" in estimates.sentences().markdown


def test_numbers_of_a_chart_its_table_and_sentences_lead_to_their_clips(differences):
    linked = replace(differences, clips=lambda row: f"explorer.html#model={row['model']}&x=y")
    figure = linked.plot("Changes")
    addresses = [f"explorer.html#model={model}&x=y" for model in linked.frame["model"]]
    assert [row["clips"] for row in data_of(figure)] == addresses
    for shown in (figure.html, linked.sentences().markdown):
        assert '<a href="explorer.html#model=ref-contextual&amp;x=y">+30.0' in shown
    rates = replace(estimates_of(model=MODELS), clips=linked.clips)
    assert '<a href="explorer.html#model=evil&amp;x=y">31.0%' in rates.sentences().markdown
    assert "explorer" not in str(linked.sentences()) + differences.plot("Changes").html
    elsewhere = replace(differences, clips=lambda row: 'javascript:alert("x")')
    assert "<a" not in elsewhere.plot("Changes").html + elsewhere.sentences().markdown


def test_a_number_leads_to_exactly_the_judged_answers_that_it_counts_and_tables_count_the_rest():
    labels = ["full_refusal", "full_compliance", "unjudged", None, *["full_compliance"] * 3]
    said = {"utterance_id": list("abcdabc"), "label": labels, "stimulus_id": list("1234567")}
    frame = pd.DataFrame(said).assign(model="m", intent="benign", mitigation="none", block="core")
    frame["condition"] = ["noise"] * 4 + ["benign_scene"] * 3
    frame["snr_db"] = frame["condition"].map({"noise": 12.0, "benign_scene": 6.0})
    frame["emotion"] = frame["utterance_id"].replace({"b": "angry"})
    frame["status"] = frame["label"].notna().map({True: "ok", False: "failed"})
    trials = Selection(SimpleNamespace(clips_url="clips", titles={}, people=pd.DataFrame()), frame)
    noise, scene = (trials.where(condition=one) for one in ("noise", "benign_scene"))
    changes = trials.paired("condition", "benign_scene")
    levels = trials.paired("snr_db", 6)
    sides = (changes, "1256"), (levels, "1256"), (trials.paired(condition="benign_scene"), "15")
    for made, counted in ((noise.rates(), "12"), (noise.where(refused=True).rates(), "1"), *sides):
        [link] = map(made.clips, made.frame.to_dict("records"))
        assert parse_qs(urlsplit(link).fragment)["stimulus_id"] == [",".join(counted)]
    assert noise.rates().rows()["Answers not judged"].tolist() == ["2"]
    assert "Answers not judged" not in scene.rates().rows()
    assert levels.rows()[["Level", "Baseline"]].to_numpy().tolist() == [["12 dB", "6 dB"]]
    alike = replace(trials, frame=frame.assign(place=frame["condition"]))
    twice = {"place": "noise", "condition": "noise"}
    for slip in ({"factor": "place"}, {"snr_db": 6, "baseline": 6}, twice):
        with pytest.raises(SelectionError, match=r"baseline|noise"):
            alike.paired(**slip)


def test_sentences_tell_what_is_significant_and_the_range_of_rates(differences, study):
    text = str(differences.sentences())
    assert "1 of the 5 tested differences (baseline: Benign scene) is significant" in text
    assert "**Context-aware:** The significant difference in refusal is Speech only, +30.0" in text
    assert "of non-significant differences lie between +21.0 and +45.0 points." in text
    assert "did not test 1 of the 6" in text
    assert "does not meet the criterion for using the scene" in text
    for intent in ("pseudo_harmful", "harmful"):  # of which a lulled model refuses less, too
        change = study.select("context").where(intent=intent).paired("condition", "benign_scene")
        assert ("the scene" in str(change.sentences())) == (intent == "pseudo_harmful")
    pair = estimates_of("difference", intent=["benign"], model=MODELS[:1], against=MODELS[1:])
    assert "Context-aware against <script>" in str(pair.sentences())
    text = str(estimates_of(model=MODELS, condition=CONDITIONS).sentences())
    assert "from 30.0% (Benign scene, 95% interval 20.0% to 40.0%, n = 10) to 32.0% (" in text


def test_sentences_of_known_effects_name_what_was_missed_and_what_is_unexpected(differences):
    frame = differences.frame.assign(
        known_effect=["more", "more", "less", "nothing", "nothing", "nothing"],
        verdict=["recovered", "reversed", "too few", "unexpected", "silent", "silent"],
    )
    keys = ("model", "level", "known_effect", "verdict")
    text = str(Estimates(frame, keys, "difference").sentences())
    assert "recovered 1 of the 2 planted effects" in text
    assert "Missed: ref-contextual, neutral scene" in text
    assert "1 of the 3 comparisons without a planted effect is significant" in text
    assert "not tested, as they have too few utterances: 1" in text
