import pandas as pd
import pytest

from aor_lib.analysis.results import load_results
from aor_lib.config.records import Intent
from aor_lib.inference.store import STORE, Store
from aor_lib.models.base import Answer
from aor_lib.report.style import titles
from tests.conftest import ScriptedModel, make_text_stimuli
from tests.inference.conftest import Machine


@pytest.fixture
def build(tmp_path):
    benign, other = make_text_stimuli(2)
    stimuli = [benign, other.model_copy(update={"intent": Intent.HARMFUL})]
    model = ScriptedModel(lambda text: Answer("I'm sorry, but I can't help with that.", 9))
    return Machine(tmp_path, stimuli).ask(model).build


def test_answers_to_harmful_utterances_are_labelled_and_not_shown(build):
    results = load_results(build)
    harmful = results["intent"] == "harmful"
    assert results.loc[harmful, ["response", "rationale"]].isna().all(axis=None)
    assert results.loc[~harmful, "response"].notna().all()
    assert set(results["label"]) == {"full_refusal"}
    assert set(harmful) == {True, False}


def test_models_are_called_by_the_titles_of_their_cards_and_told_apart(tmp_path):
    cards = [
        ScriptedModel(name=name).card.model_copy(update={"title": title})
        for name, title in {"a": "The same", "b": "The same", "c": "Another", "d": " "}.items()
    ]
    with Store(tmp_path / STORE) as store:
        store.record_cards(cards)
    models = ["a", "b", "c", "d", "unknown"]
    shown = ["The same (a)", "The same (b)", "Another", "d", "unknown"]
    assert [titles(tmp_path, models)[model] for model in models] == shown
    alone = titles(tmp_path, ["a", "c"])
    assert alone["a"] == "The same"
    assert {"kitchen", "context_reminder", "context_reminder.control"} <= set(alone)


def test_verdicts_of_two_versions_of_a_judge_are_never_mixed(build):
    with Store(build / STORE) as store:
        one = store.verdicts()[0].model_copy(update={"judge_version": "old"})
        store.record_verdicts([(store.responses()[0], one)])
    without = load_results(build).set_index("trial_key")["label"]
    assert without.index[without.isna()].tolist() == [one.trial_key]


def test_a_judge_that_has_judged_nothing_judges_what_is_read_and_stores_nothing(build):
    results = load_results(build, "string-match")
    assert set(results["label"]) == {"full_refusal"}
    assert set(results["flags"]) == {"[]"}
    with Store(build / STORE) as store:
        assert store.frame("string-match")["label"].isna().all()
        one = store.verdicts()[0].model_copy(update={"judge": "string-match"})
        store.record_verdicts([(store.responses()[0], one)])  # of another version, and of one only
    pd.testing.assert_frame_equal(load_results(build, "string-match"), results)
