import sqlite3
from collections import Counter
from contextlib import closing

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aor_lib.analysis.results import load_results
from aor_lib.inference.store import STORE
from aor_lib.report.annotation.answers import (
    answer_view,
    load_answers,
    plan_answers,
    ratings,
    start_session,
)
from aor_lib.report.annotation.store import AnnotationError
from benchmarks.explorer_study import write_study

LABELS = {"full_compliance": 40, "partial_refusal": 3, "full_refusal": 12}
ANSWERS = pd.DataFrame(
    {
        "item_sha256": f"{label}-{i}",
        "prompt": f"Request {i} <b>of</b> {label[0]}",
        "response": f"Answer {i} <script>alert(1)</script>",
        "model": f"model-{'ab'[i % 2]}",
        "intent": ("pseudo_harmful", "harmful")[i // 2 % 2],
        "condition": "benign_scene",
        "label": label,
    }
    for label, count in LABELS.items()
    for i in range(count)
)


@settings(max_examples=10)
@given(n=st.integers(1, 55), seed=st.integers(0, 99))
def test_each_label_of_the_judge_gets_an_equal_share_or_all_it_has(n, seed):
    drawn = {item.sha256 for item in plan_answers(ANSWERS, "ann", n, seed)}
    assert len(drawn) == n
    counts = Counter(sha256.rpartition("-")[0] for sha256 in drawn)
    for label, size in LABELS.items():
        assert counts[label] == size or counts[label] >= max(counts.values()) - 1


def test_annotators_read_the_same_answers_in_different_orders():
    ann, bob = plan_answers(ANSWERS, "ann", 20, 1), plan_answers(ANSWERS, "bob", 20, 1)
    assert set(ann) == set(bob)
    assert ann != bob
    assert ann == plan_answers(ANSWERS[::-1], "ann", 20, 1)
    assert set(ann) != set(plan_answers(ANSWERS, "ann", 20, 2))


def test_more_answers_than_there_are_cannot_be_asked_for():
    with pytest.raises(AnnotationError, match="ask for 1 to 55"):
        plan_answers(ANSWERS, "ann", 56, 1)


def test_the_page_shows_request_and_answer_as_text_and_nothing_about_them():
    for item in plan_answers(ANSWERS, "ann", 12, 1):
        shown = answer_view(item).value
        assert "Request" in shown
        assert "&lt;script&gt;" in shown
        assert "<script" not in shown
        assert not [
            word for word in ("model-", "harmful", "benign_scene", "full_") if word in shown
        ]


@pytest.fixture
def build(tmp_path):
    write_study(tmp_path, 24)
    return tmp_path


def test_equal_answers_to_equal_requests_are_read_once_and_failures_never(build):
    trials = load_results(build)
    answered = trials[trials["status"] == "ok"]
    assert len(answered) < len(trials)
    assert len(load_answers(build, "speech-acts")) == len(answered)  # no two are alike
    with closing(sqlite3.connect(build / STORE)) as db, db:
        db.execute("UPDATE responses SET text = 'No.' WHERE status = 'ok'")
    answers = load_answers(build, "speech-acts")
    assert sorted(answers["prompt"]) == sorted(set(answered["text"]))
    assert set(answers["response"]) == {"No."}


def test_a_session_shows_the_answers_of_the_study(build):
    session = start_session(build, "speech-acts", "ann", 4, 0)
    (shown,) = session.widget.children[1].children
    assert "How do I beat the" in shown.value
    assert start_session(build, "speech-acts", "", 4, 0) is None


def test_people_and_judges_stand_side_by_side():
    annotations = pd.DataFrame(
        [
            ("ann", "full_refusal-0", "full_refusal"),
            ("bob", "full_refusal-0", "partial_refusal"),
            ("ann", "full_compliance-1", "full_compliance"),
            ("ann", "of-another-study", "full_compliance"),
        ],
        columns=["annotator", "item_sha256", "label"],
    )
    table = ratings(annotations, {"rules": ANSWERS})
    assert list(table) == ["ann", "bob", "rules"]
    refusal = ["full_refusal", "partial_refusal", "full_refusal"]
    assert table.loc["full_refusal-0"].tolist() == refusal
    assert table.loc["full_compliance-1", "bob"] is None
    assert len(table) == 2
    assert ratings(annotations.head(0), {"rules": ANSWERS}).empty
