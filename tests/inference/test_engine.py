import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from aor_lib.inference import asking, engine
from aor_lib.inference.store import STEERED, Store
from aor_lib.models.base import Answer, Failure
from aor_lib.stimuli.manifest import write_manifest
from tests.audio.sounds import quiet
from tests.conftest import ScriptedModel, make_text_stimuli
from tests.inference.conftest import STUDY, outcomes_in, run_texts

STIMULI = make_text_stimuli(20)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(engine, "BATCH", 10)


def test_failures_and_empty_answers_are_failures_and_they_alone_are_tried_again(path):
    blocked = Failure("content filter", blocked=True)
    results = [Failure("Timeout: slow"), Answer("  ", 1), Answer("Sure.", 2), blocked]
    model = ScriptedModel(lambda text: results[int(text[5:]) % 4])
    first = run_texts(path, [model], make_text_stimuli(40))
    assert (len(first.finished), len(first.failed), len(first.keys)) == (20, 20, 40)
    rows = outcomes_in(path)
    assert [row.status for row in rows[:4]] == ["failed", "failed", "ok", "blocked"]
    said = ["Timeout: slow", "empty answer", None, "content filter"]
    assert [row.error for row in rows[:4]] == said
    assert {row.response for row in rows} == {None, "Sure."}
    again = ScriptedModel()
    second = run_texts(path, [again], make_text_stimuli(40))
    assert (len(second.finished), len(second.failed)) == (40, 0)
    assert sum(map(len, again.asked)) == 20  # none that was answered or blocked


def test_trials_that_are_asked_at_once_share_the_time_that_they_take(monkeypatch):
    model = ScriptedModel()
    model.calls_at_once = 4
    monkeypatch.setattr(asking, "_parts", lambda model, batch: [asking.Outcome(batch, {}, 8.0)])
    assert [outcome.latency_s for outcome in asking.ask(model, iter([{}]))] == [2.0]


def test_stimuli_of_the_same_content_are_asked_once_and_both_answered(path):
    model = ScriptedModel()
    run_texts(path, [model], [STIMULI[0], STIMULI[0].model_copy(update={"stimulus_id": "twin"})])
    assert model.asked == [["text 0"]]
    assert [row.response for row in outcomes_in(path)] == ["TEXT 0", "TEXT 0"]


@pytest.mark.parametrize(("failing", "stopped"), [(5, False), (6, True)])
def test_a_model_that_fails_too_often_is_stopped_and_the_others_go_on(path, failing, stopped):
    broken = ScriptedModel(
        lambda text: Failure("x") if int(text[5:]) < failing else Answer(text, 1), "broken"
    )
    models = [broken, ScriptedModel(name="sound")]
    result = run_texts(path, models, make_text_stimuli(50), max_failures=0.1)
    assert list(result.stopped) == ["broken"] * stopped
    assert [row.status for row in outcomes_in(path)[50:]] == ["ok"] * 50


def test_answers_of_two_models_under_one_name_are_not_mixed(path):
    def at(text):
        return Answer(text, 1, served_by="old" if int(text[5:]) >= 6 else "new")

    result = run_texts(path, [ScriptedModel(at)], STIMULI)
    assert list(result.stopped) == ["scripted"]
    assert (len(result.finished), len(result.failed)) == (14, 0)
    later = run_texts(path, [ScriptedModel(lambda text: Answer(text, 1, served_by="new"))], STIMULI)
    assert "'new'" in later.stopped["scripted"]
    assert sum(row.response is not None for row in outcomes_in(path)) == 14


def test_runs_started_together_on_one_store_ask_each_trial_once(path):
    together = threading.Barrier(2, timeout=60)

    class Waiting(ScriptedModel):
        def answer(self, conversations, generation):
            if not self.asked:
                together.wait()
            return super().answer(conversations, generation)

    def answer(text):
        return Failure("slow") if text[-1] == "7" else Answer(text, 1)

    models = [Waiting(answer), Waiting(answer)]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda model: run_texts(path, [model], make_text_stimuli(60)), models))
    asked = Counter(text for model in models for batch in model.asked for text in batch)
    assert {text[-1] for text in asked if asked[text] > 1} <= {"7"}, "it failed"
    assert not list(path.parent.glob("*.lock"))
    answers = [row.response for row in outcomes_in(path)]
    assert answers == [None if n % 10 == 7 else f"text {n}" for n in range(60)]


def test_models_of_runs_started_together_stay_planned_while_in_the_profile(path, monkeypatch):
    together = threading.Barrier(2, timeout=60)
    models = {name: ScriptedModel(lambda text: Failure("slow"), name) for name in ("a", "b")}
    study = STUDY.model_copy(update={"models": tuple(model.card for model in models.values())})
    write_manifest(make_text_stimuli(20, split="test"), path.parent)
    monkeypatch.setattr(engine, "load_model", lambda card: models[card.id])

    def run(name):
        together.wait()
        return engine.run_study(study, path.parent, quiet, print, engine.Share([name]))

    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(run, models))
    assert len(outcomes_in(path)) == 40
    with Store(path) as store:
        store.set_plan(store.planned(), STEERED + "a")
        engine.run_study(STUDY, path.parent, quiet, print)
        assert store.planned() == []


def test_an_adapters_mistake_is_a_failure_of_its_batch_alone(path):
    class Broken(ScriptedModel):
        def answer(self, conversations, generation):
            return super().answer(conversations, generation)[len(self.asked) :]

    trips = {f"text {n}": Answer("Sure.", 1) for n in range(20) if n != 3}.__getitem__
    odd = ScriptedModel(lambda text: Answer("Sure.", 2.5 if text == "text 3" else 1), name="odd")
    result = run_texts(path, [Broken(name="loses-one"), ScriptedModel(trips), odd], STIMULI)
    assert (len(result.finished), len(result.failed)) == (29, 31)
    assert "KeyError: 'text 3'" in {row.error for row in outcomes_in(path)}


def test_what_came_before_a_run_was_interrupted_is_kept(path):
    class Gradual(ScriptedModel):
        def results(self, conversations, generation):
            yield dict(enumerate(self.answer(conversations[:4], generation)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_texts(path, [Gradual()], STIMULI)
    answered = [row.response for row in outcomes_in(path) if row.response]
    assert answered == [f"TEXT {n}" for n in range(10, 14)]  # the longest are asked first
