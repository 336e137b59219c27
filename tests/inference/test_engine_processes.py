"""Runs in processes of their own, several on one store.

Processes that are spawned can use no fixtures, so what they call is imported.
"""

import multiprocessing
import os
from collections import Counter
from functools import partial

import pytest

from aor_lib.inference import engine
from aor_lib.models.base import Answer, Failure
from tests.conftest import ScriptedModel, make_text_stimuli
from tests.inference.conftest import outcomes_in, run_texts

TRIALS, BATCH = 60, 10


def fail_some(text):
    return Failure("too slow") if text.endswith("7") else Answer(text.upper(), 2)


class Noting(ScriptedModel):
    """Notes in a file what it is asked; before an answer it may wait or end."""

    def __init__(self, notes, before) -> None:
        super().__init__(fail_some)
        self._notes, self._before = notes, before

    def answer(self, conversations, generation):
        self._before(len(self.asked))
        results = super().answer(conversations, generation)
        with self._notes.open("a") as notes:
            notes.write("".join(f"{os.getpid()} {text}\n" for text in self.asked[-1]))
        return results


def wait_for_others(barrier, asked):
    if asked == 0:
        barrier.wait()


def run_noting(path, before=lambda asked: None):
    engine.BATCH = BATCH
    run_texts(path, [Noting(path.with_name("notes"), before)], make_text_stimuli(TRIALS))


@pytest.fixture(scope="module")
def context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__])
    return context


@pytest.fixture(scope="module")
def start(context):
    def start(*arguments):
        process = context.Process(target=run_noting, args=arguments, daemon=True)
        process.start()
        return process

    return start


@pytest.fixture(scope="module")
def uninterrupted(start, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "results.sqlite"
    start(path).join()
    return outcomes_in(path)


def asked(path):
    """Count the texts that models were asked, and the processes that asked."""
    lines = [line.split(" ", 1) for line in path.with_name("notes").read_text().splitlines()]
    return Counter(text for _, text in lines), {process for process, _ in lines}


def test_runs_started_together_ask_each_trial_once(context, start, uninterrupted, path):
    together = partial(wait_for_others, context.Barrier(2, timeout=60))
    processes = [start(path, together) for _ in range(2)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    texts, asking = asked(path)
    assert len(asking) == 2
    # Each run may try what has failed.
    assert {text[-1] for text, times in texts.items() if times > 1} <= {"7"}
    assert outcomes_in(path) == uninterrupted
