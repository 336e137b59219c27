import pytest

from aor_lib.inference.locks import TrialLocks
from aor_lib.inference.store import Store


@pytest.fixture
def store(path):
    with Store(path) as store:
        yield store


def test_a_locked_trial_is_refused_to_another_run_by_its_key(store):
    with TrialLocks(store) as one, TrialLocks(store) as other:
        assert one.take(["a", "b"]) is None
        assert other.take(["b", "c"]) == "b"
        assert one.take(["c"]) is None  # of a refused request, nothing is locked


def test_a_released_trial_is_free(store):
    with TrialLocks(store) as one, TrialLocks(store) as other:
        one.take(["a", "b"])
        one.release(["a"])
        other.wait("a")
        assert other.take(["a"]) is None
        assert other.take(["b"]) == "b"


def test_the_locks_of_a_run_end_with_it(store):
    with TrialLocks(store) as other:
        with TrialLocks(store) as one:
            one.take(["a"])
        other.wait("a")
        assert other.take(["a"]) is None
    assert [file.name for file in store.path.parent.glob("*-run-*")] == []
