"""What one machine's results become on another."""

from dataclasses import replace

import pytest

from aor_lib.analysis import stats
from aor_lib.analysis.results import load_cards, load_provenance, load_results
from aor_lib.config.records import Generation, Intent, content_hash
from aor_lib.inference.bundles import BundleError, forget_model, import_results
from aor_lib.inference.bundles import importing as importing_module
from aor_lib.inference.engine import run_trials
from aor_lib.inference.store import STORE, Store, StoreError
from aor_lib.models.base import Answer, Failure
from tests.inference.bundles import Machine, machine, model
from tests.inference.scripted import text_stimuli, trials_of


@pytest.fixture
def here(tmp_path):
    return machine(tmp_path / "here").ask(model("own"))


@pytest.fixture
def there(tmp_path):
    return machine(tmp_path / "there").ask(model("other"))


def take(bundle, to: Machine, models=()):
    return import_results(bundle, to.study, to.build, models)


def refused(bundle, by: Machine, reason, models=()):
    """It says why, and leaves the results as they are."""
    before = by.tables()
    with pytest.raises(BundleError, match=reason) as error:
        take(bundle, by, models)
    assert by.tables() == before
    return str(error.value)


def test_imported_models_stand_beside_the_studys_own(here, there):
    done = take(there.export(), here)
    assert (done.models, done.trials, done.new, done.answered) == (("other",), 6, 6, 6)
    results = load_results(here.build)
    assert results.groupby("model").size().to_dict() == {"other": 6, "own": 6}
    mine, theirs = (results[results["model"] == name] for name in ("own", "other"))
    for column in ("response", "label", "score", "rationale", "flags", "tokens", "latency_s"):
        expected = load_results(there.build)[column].to_list()
        assert theirs[column].to_list() == expected
    assert len(stats.rates(results, ["model"])) == 2
    assert mine["status"].eq("ok").all()


def test_titles_and_origins_of_imported_models_are_known(here, there):
    take(there.export(), here)
    assert load_cards(here.build)["other"].title == "The model other"
    origins = load_provenance(here.build).set_index("model")
    assert origins["profile"].to_dict() == {"other": "tiny", "own": ""}
    assert origins.loc["other", "libraries"]["torch"]
    assert origins.loc["other", "revision"] == "1"


def test_a_study_can_consist_of_imported_results_alone(there, tmp_path):
    empty = machine(tmp_path / "empty")
    take(there.export(), empty)
    assert load_results(empty.build)["status"].eq("ok").all()


def test_importing_again_changes_nothing(here, there):
    bundle = there.export()
    take(bundle, here)
    once = here.tables()
    again = take(bundle, here)
    assert here.tables() == once
    assert (again.new, again.answered) == (0, 0)


def test_what_was_imported_survives_later_runs_of_the_study(here, there):
    take(there.export(), here)
    here.ask(model("own"), model("third"))
    assert set(load_results(here.build)["model"]) == {"own", "other", "third"}
    here.ask(model("third"))
    assert set(load_results(here.build)["model"]) == {"other", "third"}


def test_trials_that_both_machines_have_are_one(here, tmp_path):
    alike = machine(tmp_path / "alike").ask(model("own"), model("other"))
    done = take(alike.export(), here)
    assert (done.trials, done.new, done.answered) == (12, 6, 6)
    assert len(load_results(here.build)) == 12


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_machines_that_each_did_a_part_make_a_whole(tmp_path, order):
    def only(numbers):
        return lambda text: Answer(text, 1) if int(text[5:]) in numbers else Failure("busy")

    halves = [
        machine(tmp_path / f"half-{n}").ask(model("other", only(numbers)))
        for n, numbers in enumerate([(0, 1, 2), (2, 3, 4, 5)])
    ]
    whole = machine(tmp_path / "whole")
    for n in order:
        take(halves[n].export(), whole)
    results = load_results(whole.build)
    assert results["response"].to_list() == [f"text {n}" for n in range(6)]
    assert results["label"].isin(["full_compliance", "full_refusal", "partial_refusal"]).all()


def test_nothing_is_replaced_by_a_failure_nor_an_answer_by_another(tmp_path):
    def at(name, *answers):
        said = dict(zip((f"text {n}" for n in range(4)), answers, strict=True))
        return machine(tmp_path / name, 4).ask(model("other", said.__getitem__))

    blocked, failed = Failure("content filter", blocked=True), Failure("busy")
    mine = at("mine", Answer("Mine.", 1), Answer("Mine.", 1), blocked, failed)
    theirs = at("theirs", failed, Answer("I cannot help.", 1), Answer("A", 1), Answer("New.", 1))
    before = load_results(mine.build)
    done = take(theirs.export(), mine)
    after = load_results(mine.build)
    assert done.answered == 1
    assert after["response"].astype(object).where(after["response"].notna(), None).to_list() == [
        *("Mine.", "Mine.", None, "New.")
    ]
    assert after["label"][:3].to_list() == before["label"][:3].to_list()
    assert after["label"][3] == load_results(theirs.build)["label"][3]


def test_answers_to_harmful_utterances_travel_and_are_not_shown(tmp_path):
    harmful = [
        stimulus.model_copy(update={"intent": Intent.HARMFUL}) for stimulus in text_stimuli(3)
    ]
    there = Machine(tmp_path / "there", harmful).ask(model("other"))
    here = Machine(tmp_path / "here", harmful)
    take(there.export(), here)
    shown = load_results(here.build)
    assert shown[["response", "rationale"]].isna().all(axis=None)
    assert shown["label"].notna().all()


def test_other_stimuli_of_the_same_names_are_refused_and_named(here, tmp_path):
    changed = [
        stimulus.model_copy(update={"sha256": content_hash(n)} if n in (11, 14) else {})
        for n, stimulus in enumerate(here.stimuli, start=10)
    ]
    there = Machine(tmp_path / "there", changed).ask(model("other"))
    said = refused(there.export(), here, "2 of its 6 stimuli are not those of")
    assert "s1, s4" in said
    assert "copy manifest.parquet and clips/" in said


def test_other_earlier_turns_make_another_stimulus(here, tmp_path):
    history = '[{"role":"assistant","text":"Hello."}]'
    changed = [stimulus.model_copy(update={"history": history}) for stimulus in here.stimuli]
    there = Machine(tmp_path / "there", changed).ask(model("other"))
    refused(there.export(), here, "6 of its 6 stimuli are not those of")


def test_trials_of_stimuli_that_the_study_has_not_are_left_out_and_counted(here, tmp_path):
    larger = machine(tmp_path / "larger", 10).ask(model("other"))
    assert take(larger.export(), here).left_out == 4
    assert len(load_results(here.build)) == 12
    others = Machine(
        tmp_path / "others",
        [s.model_copy(update={"stimulus_id": f"x{s.stimulus_id}"}) for s in here.stimuli],
    ).ask(model("other"))
    refused(others.export(), here, "has no stimulus of .*manifest.parquet")


def test_what_was_imported_of_stimuli_that_were_made_anew_is_not_shown(here, there):
    take(there.export(), here)
    anew = here.stimuli[0].model_copy(update={"sha256": content_hash("made anew")})
    Machine(here.build, [anew, *here.stimuli[1:]])
    assert load_results(here.build).groupby("model").size().to_dict() == {"other": 5, "own": 6}


def test_a_model_of_another_revision_is_refused_whichever_comes_first(here, tmp_path):
    newer = model("own")
    newer.revision = "2"
    there = machine(tmp_path / "there").ask(newer, model("other"))
    bundle = there.export()
    assert "revision: 1,2" in refused(bundle, here, "model 'own': what is imported of it")
    take(bundle, here, ["other"])
    fresh = machine(tmp_path / "fresh")
    take(bundle, fresh)
    with pytest.raises(StoreError, match="'aor results forget own'"):
        fresh.ask(model("own"))
    assert forget_model("own", fresh.build) == 6
    fresh.ask(model("own"))
    assert load_results(fresh.build).groupby("revision").size().to_dict() == {"1": 12}


def test_the_same_model_with_other_settings_is_refused(here, tmp_path):
    there = machine(tmp_path / "there")
    own = model("own")
    trials = [
        replace(trial, arm=replace(trial.arm, settings_sha256="1" * 64))
        for trial in trials_of(there.stimuli, own)
    ]
    with Store(there.build / STORE) as store:
        run_trials(trials, [own], there.stimuli, there.build, store, lambda progress: None)
    refused(there.export(), here, "another settings, for mitigation none")


def test_forgetting_what_was_not_imported_is_an_error(here, there):
    take(there.export(), here)
    with pytest.raises(BundleError, match="no imported model 'own'; imported: other"):
        forget_model("own", here.build)
    assert forget_model("other", here.build) == 6
    assert set(load_provenance(here.build)["model"]) == {"own"}


def test_another_generation_is_refused(here, there):
    profile = here.study.profile.model_copy(update={"generation": Generation(max_new_tokens=7)})
    here.study = here.study.model_copy(update={"profile": profile})
    assert "max_new_tokens=7" in refused(there.export(), here, "was asked with generation")


def test_a_mitigation_of_the_same_name_with_other_words_is_refused(here, there):
    other = here.study.mitigations[0].model_copy(update={"instruction": "Think first."})
    here.study = here.study.model_copy(update={"mitigations": (other,)})
    refused(there.export(), here, "other words as mitigation 'none'")


def test_only_the_models_that_were_asked_for_are_taken(here, tmp_path):
    there = machine(tmp_path / "there").ask(model("one"), model("two"))
    bundle = there.export()
    assert "it has one, two" in refused(bundle, here, "no model 'three'", ["three"])
    take(bundle, here, ["two"])
    assert set(load_results(here.build)["model"]) == {"own", "two"}
    assert set(load_provenance(here.build)["model"]) == {"own", "two"}


def test_an_import_that_fails_midway_leaves_nothing(here, there, monkeypatch):
    def fail(*arguments):
        raise StoreError("the disk is full")

    monkeypatch.setattr(importing_module, "record_provenance", fail)
    refused(there.export(), here, "is not imported: the disk is full")


def test_imported_results_are_exported_again_with_their_origin(here, there, tmp_path):
    take(there.export(), here)
    third = machine(tmp_path / "third")
    take(here.export(), third)
    assert set(load_results(third.build)["model"]) == {"own", "other"}
    origins = load_provenance(third.build).set_index("model")["since"].to_dict()
    assert origins["other"] == load_provenance(there.build)["since"].item()
