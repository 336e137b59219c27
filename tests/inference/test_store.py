import sqlite3
from dataclasses import replace

import pytest

from aor_lib.config.records import (
    Arm,
    Generation,
    Label,
    Response,
    Status,
    Trial,
    Verdict,
)
from aor_lib.inference.store import Store, StoreError

ARM = Arm(
    model="m",
    revision="r1",
    settings_sha256="0" * 64,
    mitigation="none",
    instruction=None,
    generation=Generation(),
)


def trial(name: str, **changes: object) -> Trial:
    return Trial(name, name.encode().hex().ljust(64, "0"), replace(ARM, **changes))


def response(of: Trial, text: str | None = "Sure.", **changes: object) -> Response:
    fields = {
        "trial_key": of.key,
        "status": Status.OK if text else Status.FAILED,
        "text": text,
        "error": None if text else "Timeout: too slow",
        "latency_s": 0.1,
        "tokens": 3,
        "created": "2026-01-01T00:00:00+00:00",
    }
    return Response.model_validate(fields | changes)


def verdict(of: Trial, label: Label = Label.FULL_COMPLIANCE, flags=()) -> Verdict:
    judged = {"judge": "rules", "judge_version": "1", "score": 0.1, "rationale": "x"}
    return Verdict(trial_key=of.key, label=label, flags=flags, **judged)


@pytest.fixture
def store(path):
    with Store(path) as store:
        yield store


def test_everything_that_can_change_an_answer_changes_the_key():
    base = trial("a")
    others = [
        replace(base, stimulus_sha256="1" * 64),
        trial("a", model="n"),
        trial("a", revision="r2"),
        trial("a", settings_sha256="1" * 64),
        trial("a", instruction="Think."),
        trial("a", generation=Generation(max_new_tokens=3)),
        trial("a", steps=("What is heard?", "Now answer.")),
    ]
    assert len({t.key for t in [base, *others]}) == 8
    assert base.key == replace(base, stimulus_id="b").key


@pytest.mark.parametrize(
    ("first", "is_final"),
    [
        ({"text": "first"}, True),
        ({"text": None, "status": Status.BLOCKED, "error": "content filter"}, True),
        ({"text": None}, False),
    ],
    ids=["answer", "blocked", "failure"],
)
def test_only_a_failure_is_replaced_by_a_later_answer(store, first, is_final):
    t = trial("a")
    store.set_plan([t])
    store.record([response(t, **first)])
    assert store.finished() == ({t.key} if is_final else set())
    assert (t.key in store.failures()) == (not is_final)
    failed = [] if is_final else [("m", "failed", "Timeout: too slow", 1)]
    assert [error for error in store.errors() if error[1] == "failed"] == failed
    store.record([response(t, "second")])
    answers = store.frame("rules")["response"].tolist()
    assert answers == [first["text"] if is_final else "second"]


def test_a_plan_is_read_back_as_it_was_set(store):
    trials = [trial("b", steps=("One.", "Two.")), trial("a", instruction=" Think. ")]
    store.set_plan(trials)
    assert store.planned() == trials
    store.set_plan(trials[::-1])
    assert store.planned() == trials[::-1]


def test_a_new_plan_leaves_old_answers_out_and_keeps_them_for_later(store):
    old, new = trial("a"), trial("b")
    store.set_plan([old])
    store.record([response(old)])
    store.set_plan([new])
    assert store.frame("rules")["stimulus_id"].tolist() == ["b"]
    store.set_plan([old, new])
    assert store.finished() == {old.key}
    assert store.frame("rules")["status"].isna().tolist() == [False, True]


def test_a_run_can_record_while_a_judge_judges(store):
    t = trial("a")
    store.set_plan([t])

    def judged():
        with Store(store.path) as run:
            for name in range(600):
                run.record([response(t, f"answer {name}")])
                yield response(t), verdict(t)

    store.record_verdicts(judged())
    assert store.frame("rules")["label"].tolist() == ["full_compliance"]


def test_a_verdict_stands_until_the_answer_or_the_judges_version_changes(store):
    t = trial("a")
    store.set_plan([t])
    store.record([response(t, None)])
    assert [r.trial_key for r in store.unjudged("rules", "1")] == [t.key]
    store.record_verdicts([(response(t, None), verdict(t, Label.UNJUDGED, ("degenerate",)))])
    assert not list(store.unjudged("rules", "1"))
    assert store.frame("rules")["flags"].tolist() == ['["degenerate"]']
    assert list(store.unjudged("rules", "2"))
    assert [len(verdicts) for _, verdicts in store.answers()] == [1]
    store.record([response(t, "an answer at last")])
    assert list(store.unjudged("rules", "1"))
    assert [len(verdicts) for _, verdicts in store.answers()] == [0]


def test_an_error_within_a_transaction_leaves_nothing_of_it(store):
    def plan_and_fail():
        with store.transaction():
            store.set_plan([trial("a")])
            raise sqlite3.OperationalError("the disk is full")

    with pytest.raises(StoreError, match=r"results\.sqlite: the disk is full"):
        plan_and_fail()
    assert store.planned() == []


def test_a_file_that_is_no_store_is_named(path):
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreError, match=r"results\.sqlite: file is not a database"):
        Store(path)
