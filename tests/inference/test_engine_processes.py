"""Runs in processes of their own: killed, resumed, and several on one store."""

import multiprocessing
import random
import signal
import time
from collections import Counter

import pytest

from aor_lib.inference.store import Store
from tests.inference.scripted import Gate, outcomes, run_noting

TRIALS, BATCH, KILLS = 2000, 10, 20


@pytest.fixture(scope="module")
def context():
    """Makes processes that have the library loaded already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "tests.inference.scripted"])
    first = context.Process()  # the server takes a while to start
    first.start()
    first.join()
    return context


@pytest.fixture(scope="module")
def start(context):
    def start(*arguments, **options):
        process = context.Process(target=run_noting, args=arguments, kwargs=options, daemon=True)
        process.start()
        return process

    return start


@pytest.fixture(scope="module")
def uninterrupted(start, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "results.sqlite"
    start(path, path.with_name("notes"), TRIALS, BATCH).join()
    return outcomes(path)


def asked(notes):
    """Texts that models were asked, and how often, by process."""
    lines = [line.split(" ", 1) for line in notes.read_text().splitlines()]
    return Counter(text for _, text in lines), Counter(process for process, _ in lines)


def test_runs_killed_at_random_moments_end_as_if_they_had_not_been(start, uninterrupted, tmp_path):
    notes = tmp_path / "notes"
    started = time.monotonic()
    start(tmp_path / "timed.sqlite", notes, TRIALS, BATCH).join()
    whole_s = time.monotonic() - started
    moments = random.Random(20)
    kills = stores = 0
    while kills < KILLS:
        path = tmp_path / f"{stores}.sqlite"
        kept = set()
        while True:
            process = start(path, notes, TRIALS, BATCH)
            process.join(moments.uniform(0, whole_s) if kills < KILLS else None)
            process.kill()
            process.join()
            with Store(path) as store:
                assert kept <= store.finished()
                kept = store.finished()
            if process.exitcode == 0:
                break
            assert process.exitcode == -signal.SIGKILL
            kills += 1
        assert outcomes(path) == uninterrupted
        stores += 1


def test_two_runs_started_together_ask_each_trial_once(context, start, uninterrupted, tmp_path):
    path, notes = tmp_path / "results.sqlite", tmp_path / "notes"
    barrier = context.Barrier(2, timeout=60)
    runs = [start(path, notes, TRIALS, BATCH, barrier) for _ in range(2)]
    for process in runs:
        process.join()
        assert process.exitcode == 0
    texts, processes = asked(notes)
    assert len(processes) == 2
    assert texts == Counter(f"text {n}" for n in range(TRIALS))
    assert outcomes(path) == uninterrupted


def test_many_runs_may_open_a_new_store_at_once(context, start, tmp_path):
    path, notes = tmp_path / "results.sqlite", tmp_path / "notes"
    barrier = context.Barrier(6, timeout=60)
    runs = [start(path, notes, 40, 4, barrier) for _ in range(6)]
    for process in runs:
        process.join()
    assert [process.exitcode for process in runs] == [0] * 6
    texts, _ = asked(notes)
    assert texts == Counter(f"text {n}" for n in range(40))


def test_what_a_killed_run_was_asking_is_taken_over_at_once(context, start, tmp_path):
    path, notes = tmp_path / "results.sqlite", tmp_path / "notes"
    gate, waiting = Gate(context), context.Event()
    stuck = start(path, notes, 40, 10, gate)
    assert gate.reached.wait(60)
    other = start(path, notes, 40, 10, waiting=waiting)
    assert waiting.wait(60)
    assert asked(notes)[0].total() == 30
    stuck.kill()
    other.join()
    assert other.exitcode == 0
    assert asked(notes)[0] == Counter(f"text {n}" for n in range(40))
