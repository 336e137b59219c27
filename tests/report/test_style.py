"""Titles and orders of ids."""

import pytest

from aor_lib.report import style


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


@pytest.mark.parametrize(
    ("column", "value", "title"),
    [
        ("model", "some_model", "some_model"),
        ("snr_db", -3.0, "\N{MINUS SIGN}3 dB"),
        ("condition", "matched", "Matched scene"),
    ],
)
def test_a_cell_is_titled_by_its_column(column, value, title):
    assert style.cell_title(column, value) == title


def test_models_scenarios_and_prompts_of_a_build_have_titles(tmp_path):
    titles = style.titles(tmp_path, ["ref-permissive", "unknown-model"])
    assert titles["unknown-model"] == "unknown-model"
    assert titles["ref-permissive"] != "ref-permissive"
    assert {"kitchen", "context_reminder", "context_reminder.control"} <= set(titles)


def test_ids_stand_in_the_order_of_the_design_and_others_as_they_come():
    assert style.ordered(["z", "noise", "a", "matched", "z"]) == ["matched", "noise", "z", "a"]


def test_the_reference_models_differ_in_colour_and_in_shape():
    models = ["ref-permissive", "ref-wordbound", "ref-contextual", "ref-emotive"]
    for part in zip(*map(style.model_style, models), strict=True):
        assert len(set(part)) == len(models)


def test_a_steering_method_keeps_its_colour_whichever_methods_stand_beside_it():
    alone = style.series("method", ["probe"], None).colour.to_dict()["scale"]["range"]
    both = style.series("method", ["none", "probe"], None).colour.to_dict()["scale"]["range"]
    assert alone[0] == both[1]
