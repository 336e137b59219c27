import platform

from aor_lib import __version__
from aor_lib.analysis.results import load_cards, load_provenance
from aor_lib.inference import provenance
from aor_lib.models.base import Failure


def test_a_run_notes_the_machine_that_answered_once(machine, model):
    here = machine("here").ask(model("own"))
    here.ask(model("own"), model("other"))
    rows = load_provenance(here.build)
    assert rows["model"].to_list() == ["other", "own"]
    assert set(rows["aor_version"]) == {__version__}
    assert set(rows["python"]) == {platform.python_version()}


def test_a_machine_that_answered_nothing_is_not_noted(machine, model):
    here = machine("here").ask(model("own", lambda text: Failure("busy")))
    assert load_provenance(here.build).empty


def test_another_machine_is_another_row(machine, model, monkeypatch):
    first = iter([Failure("content filter", blocked=True)])
    monkeypatch.setattr(provenance, "_processor", lambda: "One CPU")
    here = machine("here", 2).ask(model("own", lambda text: next(first, Failure("busy"))))
    monkeypatch.setattr(provenance, "_processor", lambda: "Another CPU")
    here.ask(model("own"))
    assert sorted(load_provenance(here.build)["device"]) == ["Another CPU", "One CPU"]


def test_cards_are_those_of_the_params_until_a_run_and_then_those_of_the_last_run(machine, model):
    here = machine("here")
    assert "gpt-audio" in load_cards(here.build)
    for title in ("The model own", "Own"):
        here.ask(model("own", title=title))
        assert load_cards(here.build)["own"].title == title
