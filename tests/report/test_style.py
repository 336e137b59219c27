"""Titles and orders of ids."""

from aor_lib.report import style


def test_models_scenarios_and_prompts_of_a_build_have_titles(tmp_path):
    titles = style.titles(tmp_path, ["ref-permissive", "unknown-model"])
    assert titles["unknown-model"] == "unknown-model"
    assert titles["ref-permissive"] != "ref-permissive"
    assert {"kitchen", "context_reminder", "context_reminder.control"} <= set(titles)


def test_ids_stand_in_the_order_of_the_design_and_others_as_they_come():
    assert style.ordered(["z", "noise", "a", "benign_scene", "z"]) == [
        "benign_scene",
        "noise",
        "z",
        "a",
    ]
