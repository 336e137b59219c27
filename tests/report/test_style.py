"""Titles and orders of ids."""

from aor_lib.report import style


def test_models_scenarios_and_prompts_of_a_build_have_titles(tmp_path):
    titles = style.titles(tmp_path, ["ref-permissive", "unknown-model"])
    assert titles["unknown-model"] == "unknown-model"
    assert titles["ref-permissive"] != "ref-permissive"
    assert {"kitchen", "context_reminder", "context_reminder.control"} <= set(titles)


def test_ids_stand_in_the_order_of_the_design_and_others_as_they_come():
    assert style.ordered(["z", "noise", "a", "matched", "z"]) == ["matched", "noise", "z", "a"]


def test_a_steering_method_keeps_its_colour_whichever_methods_stand_beside_it():
    alone = style.series("method", ["probe"], None).colour.to_dict()["scale"]["range"]
    both = style.series("method", ["none", "probe"], None).colour.to_dict()["scale"]["range"]
    assert alone[0] == both[1]
