"""The only loop over trials: batch, answer, record, resume.

Batches are cut from the whole plan, and the results of one are committed together. A run that is
killed at any moment therefore leaves whole batches, and a resumed one asks the rest in the same
batches as an uninterrupted one: padding cannot make their answers differ. What failed is asked
again without the answered trials around it, so that no answer is paid for twice.

Several runs may work on one store at a time: each claims a batch before it asks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from aor_lib.config.records import Status, Stimulus, Trial
from aor_lib.inference.executors import Batch, Executor, Outcome, in_process
from aor_lib.inference.locks import Claims
from aor_lib.inference.planning import conversation, left_out, plan_trials
from aor_lib.inference.provenance import provenance_of, record_cards, record_provenance
from aor_lib.inference.store import Store
from aor_lib.models.base import AudioModel

__all__ = [
    "BATCH",
    "MAX_FAILURES",
    "Progress",
    "answer_trials",
    "left_out",
    "plan_trials",
    "run_trials",
]

BATCH = 256
"""Trials given to a model at once; the adapter cuts them into batches that suit it."""
MAX_FAILURES = 0.1
"""Failures that a model is allowed: below 1 a share of its trials, otherwise a number of them."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come, in trials.

    ``done``: answered or blocked, now or earlier. ``failed``: since the run began. ``stopped``:
    by model, why it is asked no more. ``waiting``: another run is asking all that is left.
    """

    done: int
    failed: int
    planned: int
    stopped: Mapping[str, str] = field(default_factory=dict)
    waiting: bool = False


def run_trials(
    trials: Sequence[Trial],
    models: Sequence[AudioModel],
    stimuli: Sequence[Stimulus],
    build: Path,
    store: Store,
    report: Callable[[Progress], None],
    *,
    executor: Executor = in_process,
    max_failures: float = MAX_FAILURES,
) -> Progress:
    """Make these trials the study's plan, keep the models' cards, and have the trials answered.

    Parameters, result and errors are those of :func:`answer_trials`.
    """
    store.set_plan(trials)
    record_cards(store, [model.card for model in models])
    return answer_trials(
        *(trials, models, stimuli, build, store, report),
        executor=executor,
        max_failures=max_failures,
    )


def answer_trials(
    trials: Sequence[Trial],
    models: Sequence[AudioModel],
    stimuli: Sequence[Stimulus],
    build: Path,
    store: Store,
    report: Callable[[Progress], None],
    *,
    executor: Executor = in_process,
    max_failures: float = MAX_FAILURES,
) -> Progress:
    """Answer planned trials that have no answer yet, and record each batch of results as it comes.

    A model that cannot go on, or that fails more often than it is allowed, is asked no more; the
    others are. The run ends when nothing is left to ask, here or in another run on the store.

    Parameters
    ----------
    build
        The folder that the stimuli's paths are relative to.
    report
        Called at the start, after every batch, and before it waits for another run.
    max_failures
        Failures that a model is allowed in this run: below 1 a share of its trials in the plan,
        otherwise a number of them.

    Raises
    ------
    StoreError
        A result cannot be written.
    OSError
        A claim cannot be made, or the executor has lost its machines.
    """
    with Claims(store.path) as claims:
        sizes = {m.card.id: min(BATCH, m.capabilities.at_once or BATCH) for m in models}
        run = _Run(trials, models, stimuli, build, store, claims, max_failures, sizes)
        report(run.progress())
        while True:
            queues = [(model, run.queue(model.card.id)) for model in models]
            # Closed however this ends, so that nothing goes on to be asked, and paid for.
            with closing(executor(queues)) as outcomes:
                for batch, outcome in outcomes:
                    run.record(batch, outcome)
                    report(run.progress())
            held = run.held_by_another()
            if held is None:
                return run.progress()
            report(run.progress(waiting=True))
            claims.wait(held)
            run.look()


class _Run:
    """What one run knows of its trials. The store and the claims are what all runs share."""

    def __init__(
        self,
        trials: Sequence[Trial],
        models: Sequence[AudioModel],
        stimuli: Sequence[Stimulus],
        build: Path,
        store: Store,
        claims: Claims,
        max_failures: float,
        sizes: Mapping[str, int],
    ) -> None:
        self._build, self._store, self._claims = build, store, claims
        self._silent = {model.card.id: model for model in models}
        self._stimuli = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
        # Stimuli of the same content are one trial.
        self._trials: dict[str, Trial] = {}
        keys: dict[str, list[str]] = {}
        for trial in trials:
            key = trial.key
            if key not in self._trials:
                self._trials[key] = trial
                keys.setdefault(trial.arm.model, []).append(key)
        self._batches = {
            model: [of[i : i + sizes[model]] for i in range(0, len(of), sizes[model])]
            for model, of in keys.items()
        }
        self._allowed = {
            model: max_failures if max_failures >= 1 else max_failures * len(of)
            for model, of in keys.items()
        }
        self._failures: Counter[str] = Counter()
        self._stopped: dict[str, str] = {}
        self._held: dict[str, str] = {}
        self._failed_before = store.failures()
        self._finished: set[str] = set()
        self._failed: set[str] = set()
        self.look()

    def progress(self, waiting: bool = False) -> Progress:
        """How far the run has come."""
        done, failed = len(self._finished), len(self._failed)
        return Progress(done, failed, len(self._trials), dict(self._stopped), waiting)

    def look(self, keys: Sequence[str] | None = None) -> None:
        """Take note of what other runs have recorded: of all trials, or of these."""
        self._finished |= self._store.finished(keys) & self._trials.keys()
        failed = {
            key
            for key, created in self._store.failures(keys).items()
            if key in self._trials and self._failed_before.get(key) != created
        }
        self._failed = (self._failed | failed) - self._finished

    def queue(self, model: str) -> Iterator[Batch]:
        """The batches of a model that have something left to ask, each claimed for this run."""
        self._held.pop(model, None)
        for batch in self._batches.get(model, []):
            if model in self._stopped:
                return
            left = self._left(batch)
            if not left:
                continue
            if (held := self._claims.take(left)) is not None:
                self._held[model] = held
                continue
            self.look(left)  # another run may have asked some until just now
            claimed, left = left, self._left(left)
            self._claims.release(set(claimed).difference(left))
            if left:
                trials = [self._trials[key] for key in left]
                yield Batch(
                    trials,
                    [
                        conversation(
                            *(self._stimuli[t.stimulus_id], self._build),
                            *(t.arm.instruction, t.arm.steps),
                        )
                        for t in trials
                    ],
                    trials[0].arm.generation,
                )

    def record(self, batch: Batch, outcome: Outcome) -> None:
        """Keep what came of a batch, and stop its model if it has failed too often."""
        model = batch.trials[0].arm.model
        keys = [trial.key for trial in batch.trials]
        if outcome.stopped is not None:
            self._stopped[model] = outcome.stopped
        else:
            responses = outcome.responses(keys)
            failed = {r.trial_key for r in responses if r.status is Status.FAILED}
            with self._store.transaction():
                self._store.record(responses)
                if model in self._silent and len(failed) < len(responses):
                    record_provenance(self._store, [provenance_of(self._silent.pop(model))])
            self._finished.update(set(keys) - failed)
            self._failed |= failed
            self._failures[model] += len(failed)
            if self._failures[model] > self._allowed[model]:
                self._stopped.setdefault(
                    model,
                    f"{self._failures[model]} of its trials failed in this run, more than the "
                    f"{self._allowed[model]:g} that are allowed",
                )
        self._claims.release(keys)

    def held_by_another(self) -> str | None:
        """A trial that another run is asking, if this one has nothing else left to ask."""
        held = (key for model, key in self._held.items() if model not in self._stopped)
        return next(held, None)

    def _left(self, keys: Sequence[str]) -> list[str]:
        return [key for key in keys if key not in self._finished and key not in self._failed]
