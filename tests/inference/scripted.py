"""What tests of the engine share: trials on texts, and models that answer at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Arm, Generation, Intent, Stimulus, Trial, content_hash, split_of
from aor_lib.inference import engine as inference
from aor_lib.inference.engine import Progress, run_trials
from aor_lib.inference.store import Store
from aor_lib.models.base import Answer, Capabilities, Failure

MANY = 1e9
"""A budget that no number of failures uses up."""


def text_stimuli(number: int) -> list[Stimulus]:
    """Stimuli without audio, each of another text."""
    return [
        Stimulus.model_validate(
            dict.fromkeys(Stimulus.model_fields)
            | {
                "stimulus_id": f"s{n}",
                "utterance_id": f"u{n}",
                "scenario": "kitchen",
                "intent": Intent.BENIGN,
                "text": f"text {n}",
                "presented_text": f"text {n}",
                "events": "[]",
                "history": "[]",
                "seed": 0,
                "block": "core",
                "condition": "text_only",
                "sha256": content_hash(n),
                "split": split_of(f"u{n}"),
            }
        )
        for n in range(number)
    ]


def trials_of(stimuli: list[Stimulus], *models: Scripted) -> list[Trial]:
    """A trial of each stimulus for each model."""
    arms = [Arm(m.card.id, m.revision, "0" * 64, "none", None, Generation()) for m in models]
    return [Trial(s.stimulus_id, s.content_sha256, arm) for arm in arms for s in stimuli]


class Scripted:
    """Stands for a model: ``answer_one`` gives the result for the last text of a conversation."""

    revision = "1"
    capabilities = Capabilities()

    def __init__(
        self,
        answer_one: Callable[[str], Answer | Failure] = lambda text: Answer(text.upper(), 2),
        name: str = "scripted",
    ) -> None:
        self.card = ModelCard(
            id=name, title="", family="", kind="cascade", licence="", source="", settings={}
        )
        self.answer_one = answer_one
        self.asked: list[list[str]] = []

    def answer(self, conversations, generation):
        texts = [str(conversation[-1].text) for conversation in conversations]
        self.asked.append(texts)
        return [self.answer_one(text) for text in texts]


def some_fail(text: str) -> Answer | Failure:
    """The same for the same text: mostly an answer, sometimes a failure or a blocked answer."""
    number = int(text.split()[1])
    if number % 50 == 7:
        return Failure("Timeout: too slow")
    if number % 50 == 9:
        return Failure("content filter", blocked=True)
    return Answer(text.upper(), 2)


class Noting(Scripted):
    """Notes in a file what it is asked; before its first answer it waits for something.

    As padding might, what else is in a batch changes its answers.
    """

    def __init__(self, notes: Path, first=None) -> None:
        super().__init__(some_fail)
        self._notes, self._first = notes, first

    def answer(self, conversations, generation):
        if self._first is not None:
            self._first.wait()
            self._first = None
        results = super().answer(conversations, generation)
        batch = self.asked[-1]
        with self._notes.open("a") as notes:
            notes.write("".join(f"{os.getpid()} {text}\n" for text in batch))
        return [
            replace(result, text=f"{result.text} of {batch[0]} to {batch[-1]}")
            if isinstance(result, Answer)
            else result
            for result in results
        ]


class Gate:
    """Something to wait for in one process that another sees being waited for."""

    def __init__(self, context) -> None:
        self.reached, self._opened = context.Event(), context.Event()

    def wait(self) -> None:
        self.reached.set()
        self._opened.wait()


def run_noting(path: Path, notes: Path, number: int, batch: int, first=None, waiting=None) -> None:
    """A run of its own process; ``waiting`` is set when it waits for another run."""
    inference.BATCH = batch

    def report(progress):
        if waiting is not None and progress.waiting:
            waiting.set()

    run_all(path, [Noting(notes, first)], text_stimuli(number), report, max_failures=MANY)


def run(path: Path, model: Scripted, stimuli: list[Stimulus], **options: object):
    """Run all trials of a model on a store, however many fail, and return how that ended."""
    return run_all(path, [model], stimuli, **({"max_failures": MANY} | options))


def run_all(
    path: Path,
    models: list[Scripted],
    stimuli: list[Stimulus],
    report: Callable[[Progress], None] = lambda progress: None,
    **options: object,
):
    """Run all trials of some models on a store, and return how that ended."""
    with Store(path) as store:
        trials = trials_of(stimuli, *models)
        return run_trials(trials, models, stimuli, path.parent, store, report, **options)


def outcomes(path: Path) -> list[tuple[object, ...]]:
    """What a store holds of every planned trial, without times."""
    with Store(path) as store:
        frame = store.frame("rules")
    columns = ["trial_key", "stimulus_id", "status", "response", "error", "heard", "tokens"]
    return list(frame[columns].astype(object).where(frame[columns].notna(), None).itertuples(False))
