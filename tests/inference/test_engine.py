import json
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from aor_lib.config.records import Arm, Generation, Trial
from aor_lib.inference import engine as inference
from aor_lib.inference.engine import MAX_FAILURES, run_trials
from aor_lib.inference.store import Store
from aor_lib.models.base import Answer, Failure, ModelError
from tests.inference.scripted import Scripted, outcomes, run, run_all, text_stimuli

STIMULI = text_stimuli(20)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(inference, "BATCH", 10)


def test_every_answer_is_kept_with_its_trial(path):
    result = run(path, Scripted(), text_stimuli(25))
    assert (result.done, result.failed, result.planned) == (25, 0, 25)
    assert [row.response for row in outcomes(path)] == [f"TEXT {n}" for n in range(25)]


def test_failures_and_empty_answers_are_recorded_as_failures_and_tried_again(path):
    def flaky(text):
        return [Failure("Timeout: slow"), Answer("  ", 1), Answer("Sure.", 2)][int(text[5:]) % 3]

    first = run(path, Scripted(flaky), text_stimuli(30))
    assert (first.done, first.failed, first.planned) == (10, 20, 30)
    with Store(path) as store:
        assert store.errors() == [
            ("scripted", "failed", "Timeout: slow", 10),
            ("scripted", "failed", "empty answer", 10),
        ]
        assert store.frame("rules").query("status == 'failed'")["response"].isna().all()
    second = run(path, Scripted(), text_stimuli(30))
    assert (second.done, second.failed) == (30, 0)


def test_what_failed_is_asked_again_without_what_was_answered(path):
    run(path, Scripted(lambda t: Failure("busy") if t == "text 3" else Answer(t, 1)), STIMULI)
    again = Scripted()
    run(path, again, STIMULI)
    assert again.asked == [["text 3"]]


def test_a_blocked_answer_is_kept_as_such_and_not_asked_for_again(path):
    result = run(path, Scripted(lambda text: Failure("content filter", blocked=True)), STIMULI)
    assert (result.done, result.failed) == (20, 0)
    assert {row.status for row in outcomes(path)} == {"blocked"}
    again = Scripted()
    run(path, again, STIMULI)
    assert again.asked == []


def test_a_finished_study_asks_no_model(path):
    run(path, Scripted(), STIMULI)
    again = Scripted()
    result = run(path, again, STIMULI)
    assert again.asked == []
    assert (result.done, result.planned) == (20, 20)


def test_stimuli_of_the_same_content_are_asked_once_and_both_answered(path):
    one = text_stimuli(1)[0]
    twin = one.model_copy(update={"stimulus_id": "twin"})
    model = Scripted()
    run(path, model, [one, twin])
    assert model.asked == [["text 0"]]
    assert [row.response for row in outcomes(path)] == ["TEXT 0", "TEXT 0"]


def test_a_resumed_run_asks_the_same_batches(path):
    whole = Scripted()
    run(path.with_name("whole.sqlite"), whole, text_stimuli(35))
    cut = Scripted()

    def stop_in_the_third(text):
        if len(cut.asked) == 3:
            raise KeyboardInterrupt
        return Answer(text, 1)

    cut.answer_one = stop_in_the_third
    with pytest.raises(KeyboardInterrupt):
        run(path, cut, text_stimuli(35))
    resumed = Scripted()
    run(path, resumed, text_stimuli(35))
    assert cut.asked[:2] + resumed.asked == whole.asked


def test_a_model_that_fails_too_often_is_stopped_and_the_others_go_on(path):
    broken = Scripted(lambda text: Failure("out of quota"), "broken")
    sound = Scripted(name="sound")
    result = run_all(path, [broken, sound], text_stimuli(50), max_failures=12)
    assert len(broken.asked) == 2
    assert (result.done, result.failed, result.planned) == (50, 20, 100)
    assert result.stopped == {
        "broken": "20 of its trials failed in this run, more than the 12 that are allowed"
    }


@pytest.mark.parametrize(("failing", "stopped"), [(5, False), (6, True)])
def test_the_budget_may_be_a_share_of_a_models_trials(path, failing, stopped):
    model = Scripted(lambda t: Failure("x") if int(t[5:]) < failing else Answer(t, 1))
    result = run(path, model, text_stimuli(50), max_failures=MAX_FAILURES)
    assert bool(result.stopped) is stopped


def test_a_stopped_model_goes_on_in_the_next_run(path):
    stimuli = text_stimuli(30)
    run(path, Scripted(lambda text: Failure("out of quota")), stimuli, max_failures=0)
    result = run(path, Scripted(), stimuli)
    assert (result.done, result.stopped) == (30, {})


def test_a_model_that_cannot_go_on_is_stopped_with_its_words(path):
    def refuse(text):
        raise ModelError("the API refuses the key")

    result = run_all(path, [Scripted(refuse, "keyless"), Scripted(name="sound")], STIMULI)
    assert result.stopped == {"keyless": "the API refuses the key"}
    assert (result.done, result.failed, result.planned) == (20, 0, 40)


def test_an_adapters_mistake_is_a_failure_of_its_batch_alone(path):
    def trip(text):
        if text == "text 3":
            raise KeyError("no such tensor")
        return Answer(text, 1)

    result = run(path, Scripted(trip), STIMULI)
    assert (result.done, result.failed) == (10, 10)
    assert {row.error for row in outcomes(path)} == {None, "KeyError: 'no such tensor'"}


def test_an_adapter_that_loses_an_answer_is_not_believed(path):
    class Forgetful(Scripted):
        def answer(self, conversations, generation):
            return super().answer(conversations, generation)[1:]

    result = run(path, Forgetful(), STIMULI)
    assert (result.done, result.failed) == (0, 20)
    assert outcomes(path)[0].error == "ValueError: 9 results for 10 conversations"


def test_earlier_turns_come_before_the_utterance(path):
    history = [
        {"role": "user", "path": "clips/a.flac", "sha256": "0" * 64},
        {"role": "assistant", "text": "I see."},
    ]
    stimulus = text_stimuli(1)[0].model_copy(update={"history": json.dumps(history)})
    seen = []

    class Watching(Scripted):
        def answer(self, conversations, generation):
            seen.extend(conversations)
            return super().answer(conversations, generation)

    run(path, Watching(), [stimulus])
    (turns,) = seen
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", None),
        ("assistant", "I see."),
        ("user", "text 0"),
    ]
    assert turns[0].audio == path.parent / "clips/a.flac"


def test_the_first_step_stands_beside_the_stimulus_and_the_others_follow_it(tmp_path):
    [stimulus] = text_stimuli(1)
    system, said, later = inference.conversation(stimulus, tmp_path, "Mind.", ("Heard?", "Now."))
    assert (system.role, system.text) == ("system", "Mind.")
    assert (said.role, said.text) == ("user", "text 0\nHeard?")
    assert (later.role, later.text) == ("user", "Now.")
    sound = stimulus.model_copy(update={"path": "clip.flac", "presented_text": None})
    [said] = inference.conversation(sound, tmp_path, steps=("Heard?",))
    assert (said.audio, said.text) == (tmp_path / "clip.flac", "Heard?")


class Concurrent(Scripted):
    """Takes three calls at a time, and answers when it has three."""

    calls_at_once = 3

    def __init__(self) -> None:
        super().__init__()
        self.together = threading.Barrier(3)
        self.threads = ThreadPoolExecutor(8)

    def submit(self, conversations, generation):
        def answer():
            self.together.wait(timeout=30)
            return self.answer(conversations, generation)

        return self.threads.submit(answer)


def test_a_model_that_takes_several_calls_at_a_time_gets_them(path, monkeypatch):
    monkeypatch.setattr(inference, "BATCH", 2)
    model = Concurrent()
    with model.threads:
        result = run(path, model, text_stimuli(18))
    assert (result.done, result.failed) == (18, 0)
    assert sorted(model.asked) == sorted([f"text {n}", f"text {n + 1}"] for n in range(0, 18, 2))
    assert [row.response for row in outcomes(path)] == [f"TEXT {n}" for n in range(18)]


def test_a_model_that_takes_several_calls_at_a_time_is_asked_in_steps(path):
    model, stimuli = Concurrent(), text_stimuli(3)
    arm = Arm("scripted", "1", "0" * 64, "steps", None, Generation(), ("Heard?", "Now."))
    trials = [Trial(s.stimulus_id, s.content_sha256, arm) for s in stimuli]
    with Store(path) as store:
        run_trials(trials, [model], stimuli, path.parent, store, lambda progress: None)
    assert {row.response for row in outcomes(path)} == {"NOW."}


def test_what_is_under_way_is_given_up_when_a_run_is_interrupted(path, monkeypatch):
    monkeypatch.setattr(inference, "BATCH", 2)
    model, calls = Concurrent(), []

    def submit(conversations, generation):
        calls.append(Future())
        if len(calls) == 1:
            calls[0].set_result([Answer("Yes.", 1), Answer("Yes.", 1)])
        return calls[-1]

    def report(progress):
        if progress.done:
            raise KeyboardInterrupt

    model.submit = submit
    with pytest.raises(KeyboardInterrupt):
        run_all(path, [model], text_stimuli(20), report)
    assert [call.cancelled() for call in calls] == [False, True, True]
    assert [row.response for row in outcomes(path)[:3]] == ["Yes.", "Yes.", None]
