import signal
import subprocess
import sys

import pytest

from aor_lib.inference import plan_trials, run_trials
from aor_lib.models.base import Answer, Failure
from aor_lib.models.registry import load_model
from aor_lib.params import ModelCard
from aor_lib.records import Condition, Status
from aor_lib.results import load_results, load_stimuli
from aor_lib.store import Store

pytestmark = pytest.mark.slow

CARD = ModelCard(
    id="scripted", title="", family="", kind="cascade", licence="", source="", settings={}
)


class Scripted:
    """Stands for a model in tests of the loop around it."""

    card = CARD
    revision = "1"

    def __init__(self, results) -> None:
        self.results = results
        self.calls: list[int] = []

    def answer(self, conversations, generation):
        self.calls.append(len(conversations))
        return [self.results(index) for index in range(len(conversations))]


def run(study, build, store, model):
    stimuli = load_stimuli(build)
    trials = plan_trials(study, stimuli, [model])
    return run_trials(trials, [model], stimuli, build, store, lambda progress: None)


def answers(frame):
    return frame[["trial_key", "status", "response", "error", "heard", "tokens"]].to_dict("list")


def test_mitigations_are_tried_on_core_stimuli_of_the_chosen_conditions(tiny_study):
    study, build = tiny_study
    stimuli = load_stimuli(build)
    trials = plan_trials(study, stimuli, [Scripted(None)])
    mitigated = [t for t in trials if t.mitigation == "chain_of_thought"]
    by_id = {s.stimulus_id: s for s in stimuli}
    assert {by_id[t.stimulus_id].condition for t in mitigated} == {Condition.MATCHED}
    assert len(trials) == len(stimuli) + len(mitigated)


def test_failures_and_empty_answers_are_recorded_as_failures_and_tried_again(tiny_study, tmp_path):
    study, build = tiny_study

    def flaky(index):
        return [Failure("Timeout: slow"), Answer("  ", 1), Answer("Sure.", 2)][index % 3]

    with Store(tmp_path / "results.sqlite") as store:
        first = run(study, build, store, Scripted(flaky))
        assert 0 < first.failed < first.planned
        assert {error for error, _ in store.errors()} == {"Timeout: slow", "empty answer"}
        assert store.frame("rules").query("status == 'failed'")["response"].isna().all()
        second = run(study, build, store, Scripted(lambda index: Answer("Sure.", 2)))
        assert (second.done, second.failed) == (second.planned, 0)


def test_a_finished_study_asks_no_model(tiny_study, tmp_path):
    study, build = tiny_study
    with Store(tmp_path / "results.sqlite") as store:
        run(study, build, store, Scripted(lambda index: Answer("Sure.", 2)))
        again = Scripted(None)
        run(study, build, store, again)
        assert again.calls == []


KILLED = """
import os, signal, sys
from pathlib import Path
from aor_lib import inference
from aor_lib.cli import main
from aor_lib.store import Store

inference.BATCH = 24
left = int(sys.argv.pop(1))
record = Store.record

def record_or_die(self, response):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    record(self, response)

Store.record = record_or_die
main()
"""


def aor_run(profile, build, kill_after):
    command = [sys.executable, "-c", KILLED, str(kill_after), "run", str(profile)]
    done = subprocess.run([*command, "--build", str(build)], capture_output=True, text=True)
    return done.returncode


def test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been(tiny_study, tmp_path):
    _, build = tiny_study
    profile = build.parent / "tiny.yaml"
    store = build / "results.sqlite"
    try:
        assert aor_run(profile, build, -1) == 0
        whole = answers(load_results(build))
        total = len(whole["trial_key"])
        for name in build.glob("results.sqlite*"):
            name.unlink()
        finished = 0
        for kill_after in (total // 3, total // 5):  # within a batch, then within another
            assert aor_run(profile, build, kill_after) == -signal.SIGKILL
            finished += kill_after
            with Store(store) as opened:
                assert len(opened.finished()) == finished
        assert aor_run(profile, build, total - finished) == 0  # one more would have killed it
        assert answers(load_results(build)) == whole
    finally:
        for name in build.glob("results.sqlite*"):
            name.unlink()


def test_both_cascades_answer_every_condition_the_same_way_twice(tiny_study, tmp_path):
    study, build = tiny_study
    stimuli = load_stimuli(build)
    frames = []
    for name in ("one", "two"):
        models = [load_model(card) for card in study.models]
        trials = plan_trials(study, stimuli, models)
        with Store(tmp_path / f"{name}.sqlite") as store:
            run_trials(trials, models, stimuli, build, store, lambda progress: None)
            frames.append(store.frame("rules"))
    assert (frames[0]["status"] == Status.OK).all()
    assert answers(frames[0]) == answers(frames[1])
