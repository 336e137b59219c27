"""Two runs on one store, in processes of their own.

Processes that are spawned can use no fixtures, so what they call is imported.
"""

import multiprocessing
import os
from collections import Counter

from aor_lib.inference import engine
from aor_lib.models.base import Answer, Failure
from tests.conftest import ScriptedModel, make_text_stimuli
from tests.inference.conftest import outcomes_in, run_texts

TRIALS = 60


class Noting(ScriptedModel):
    """Waits for the other run before its first answer, and notes in a file what it is asked."""

    def __init__(self, notes, barrier) -> None:
        super().__init__(fail_some)
        self._notes, self._barrier = notes, barrier

    def answer(self, conversations, generation):
        if not self.asked:
            self._barrier.wait()
        results = super().answer(conversations, generation)
        with self._notes.open("a") as notes:
            notes.write("".join(f"{os.getpid()} {text}\n" for text in self.asked[-1]))
        return results


def fail_some(text):
    return Failure("too slow") if text.endswith("7") else Answer(text.upper(), 2)


def run_noting(path, barrier):
    engine.BATCH = 10
    run_texts(path, [Noting(path.with_name("notes"), barrier)], make_text_stimuli(TRIALS))


def test_runs_started_together_ask_each_trial_once(path):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__])
    of_run = {"target": run_noting, "args": (path, context.Barrier(2, timeout=60))}
    processes = [context.Process(**of_run, daemon=True) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    notes = [line.split(" ", 1) for line in path.with_name("notes").read_text().splitlines()]
    assert len({process for process, _ in notes}) == 2
    times = Counter(text for _, text in notes)
    assert {text[-1] for text in times if times[text] > 1} <= {"7"}  # each may try what has failed
    answers = {row.stimulus_id: row.response for row in outcomes_in(path)}
    assert answers == {f"s{n}": None if n % 10 == 7 else f"TEXT {n}" for n in range(TRIALS)}
