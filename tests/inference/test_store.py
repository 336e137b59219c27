from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from aor_lib.config.records import Arm, Generation, Trial, content_hash
from aor_lib.inference.asking import response_of
from aor_lib.inference.store import Store, StoreError
from aor_lib.models.base import Answer

ARM = Arm("m", "r1", "0" * 64, "none", None, Generation())


def trial(name: str, **changes: object) -> Trial:
    return Trial(name, content_hash(name), replace(ARM, **changes))


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


def test_runs_that_create_the_results_at_the_same_time_all_open_them(tmp_path):
    together = Barrier(3, timeout=60)

    def finished(name: int) -> set[str]:
        together.wait()
        with Store(tmp_path / str(name // 3)) as store:
            return store.finished()

    with ThreadPoolExecutor(3) as threads:
        assert not any(threads.map(finished, range(60)))


def test_a_new_plan_leaves_old_answers_out_and_keeps_them_for_later(path):
    old, new = trial("a"), trial("b")
    with Store(path) as store:
        store.set_plan([old])
        store.record([response_of(old.key, Answer("Sure.", 3), 0.1)])
        store.set_plan([new])
        assert store.frame("rules")["stimulus_id"].tolist() == ["b"]
        store.set_plan([old, new])
        assert store.finished() == {old.key}
        assert store.frame("rules")["status"].isna().tolist() == [False, True]


def test_a_file_that_is_no_store_is_named(path):
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreError, match=r"results\.sqlite"):
        Store(path)
