"""The only loop over trials: batch, answer, record, resume.

Batches are cut from the whole plan, and results are committed as they come: all of a batch at once,
or those of each smaller batch of a model that gives them one by one. A run that is killed at any
moment therefore leaves whole batches, and a resumed one asks the rest in the same batches as an
uninterrupted one: padding cannot make their answers differ. What failed is asked again without the
answered trials around it, so that no answer is paid for twice.

Several runs may work on one store at a time: each locks a batch before it asks it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aor_lib.config.records import Arm, Generation, Response, Status, Stimulus, Trial
from aor_lib.inference.executors import Batch, Executor, Outcome, in_process
from aor_lib.inference.locks import TrialLocks
from aor_lib.inference.planning import conversation
from aor_lib.inference.provenance import provenance_of, record_cards, record_provenance
from aor_lib.inference.store import Store
from aor_lib.models.base import AudioModel, Failure

BATCH = 256
"""Trials given to a model at once; the adapter cuts them into batches that suit it."""
MAX_FAILURES = 0.1
"""Failures that a model is allowed: below 1 a share of its trials, otherwise a number of them."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run, in trials.

    ``done``: answered, blocked or given up, now or earlier. ``failed``: since the run began.
    ``stopped``: by model, why it is asked no more. ``waiting``: another run is asking all that is
    left.
    """

    done: int
    failed: int
    planned: int
    stopped: Mapping[str, str]
    waiting: bool


def record_plan(store: Store, trials: Sequence[Trial], models: Sequence[AudioModel]) -> None:
    """Make these trials the study's plan, and keep the models' cards.

    Raises
    ------
    StoreError
        If the store cannot be written, or what was imported does not go with the plan.
    """
    store.set_plan(trials)
    record_cards(store, [model.card for model in models])


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
    """Answer planned trials that have no answer yet, and record results as they come.

    A model that cannot go on, that fails more often than it is allowed, or whose provider has
    another one answer, is asked no more; the others are. The run ends when nothing is left to ask,
    here or in another run on the store.

    Parameters
    ----------
    build
        The folder that the stimuli's paths are relative to.
    report
        Called at the start, when results came, and before it waits for another run.
    max_failures
        Failures that a model is allowed in this run: below 1 a share of its trials in the plan,
        otherwise a number of them.

    Raises
    ------
    StoreError
        If a result cannot be written.
    OSError
        If a trial cannot be locked, or the executor has lost its machines.
    """
    with TrialLocks(store) as locks:
        run = _Run(trials, models, stimuli, build, store, locks, max_failures)
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
            locks.wait(held)
            run.look()


class _Run:
    """State of one run. The store and the locks are what all runs share."""

    def __init__(
        self,
        trials: Sequence[Trial],
        models: Sequence[AudioModel],
        stimuli: Sequence[Stimulus],
        build: Path,
        store: Store,
        locks: TrialLocks,
        max_failures: float,
    ) -> None:
        self._build, self._store, self._locks = build, store, locks
        self._stimuli = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
        # Stimuli of the same content are one trial.
        self._trials = {trial.key: trial for trial in trials}
        keys: dict[str, dict[Generation, list[str]]] = defaultdict(dict)
        for key, trial in self._trials.items():
            keys[trial.arm.model].setdefault(trial.arm.generation, []).append(key)
        self._batches: dict[str, list[list[str]]] = {}
        self._allowed: dict[str, float] = {}
        for model in models:
            name, size = model.card.id, min(BATCH, model.capabilities.at_once or BATCH)
            # A batch is decoded in one way.
            self._batches[name] = [
                batch for alike in keys[name].values() for batch in self._cut(alike, size)
            ]
            share = max_failures * sum(map(len, keys[name].values()))
            self._allowed[name] = max_failures if max_failures >= 1 else share
        self._unanswered = {model.card.id: model for model in models}
        self._served_by: dict[str, str] = {}
        self._failures: Counter[str] = Counter()
        self._stopped: dict[str, str] = {}
        self._held: dict[str, str] = {}
        self._failed_before = store.failures()
        self._finished = store.finished() & self._trials.keys()
        self._failed: set[str] = set()

    def progress(self, waiting: bool = False) -> Progress:
        done, failed = len(self._finished), len(self._failed)
        return Progress(done, failed, len(self._trials), dict(self._stopped), waiting)

    def look(self, keys: Sequence[str] | None = None) -> None:
        """Take note of what other runs have recorded since: of all trials, or of these."""
        self._finished |= self._store.finished(keys) & self._trials.keys()
        failed = {
            key
            for key, created in self._store.failures(keys).items()
            if key in self._trials and self._failed_before.get(key) != created
        }
        self._failed = (self._failed | failed) - self._finished

    def queue(self, model: str) -> Iterator[Batch]:
        """Lock and yield the batches of a model that have something left to ask."""
        self._held.pop(model, None)
        for batch in self._batches[model]:
            if model in self._stopped:
                return
            left = self._left(batch)
            if not left:
                continue
            if (held := self._locks.take(left)) is not None:
                self._held[model] = held
                continue
            self.look(left)  # another run may have asked some until just now
            locked, left = left, self._left(left)
            if asked := set(locked).difference(left):
                self._locks.release(sorted(asked))
            if left:
                yield self._batch(left)

    def record(self, batch: Batch, outcome: Outcome) -> None:
        """Keep results of a batch, and stop its model if it has failed too often."""
        arm, keys = batch.trials[0].arm, [trial.key for trial in batch.trials]
        model = arm.model
        if outcome.stopped is not None:
            self._stopped[model] = outcome.stopped
            self._locks.release(keys)
            return
        silent = [
            key
            for key, result in zip(keys, outcome.results, strict=True)
            if isinstance(result, Failure) and result.lasting
        ]
        with self._store.transaction():
            responses = self._of_one_model(arm, outcome.responses(keys))
            failed = {r.trial_key for r in responses if r.status is Status.FAILED}
            self._store.record(responses, silent)
            if model in self._unanswered and len(failed) < len(responses):
                record_provenance(self._store, [provenance_of(self._unanswered.pop(model))])
            self._locks.release(keys)
        self._finished |= {response.trial_key for response in responses} - failed
        self._failed |= failed
        self._failures[model] += len(failed)
        if self._failures[model] > self._allowed[model]:
            self._stopped.setdefault(
                model,
                f"{self._failures[model]} of its trials failed in this run, more than the "
                f"{self._allowed[model]:g} that are allowed",
            )

    def _of_one_model(self, arm: Arm, responses: Sequence[Response]) -> Sequence[Response]:
        """Leave out answers of another model than those in the store, and stop asking for them."""
        names = {response.served_by: None for response in responses if response.served_by}
        if not names:
            return responses
        if arm.model not in self._served_by:
            kept = self._store.served_by(arm.model, arm.revision)
            self._served_by[arm.model] = kept or next(iter(names))
        first = self._served_by[arm.model]
        for other in names.keys() - {first}:
            self._stopped.setdefault(
                arm.model,
                f"{other!r} answers now, and {first!r} did before; "
                "give what answers now a card of its own, or another revision in its card",
            )
        return [response for response in responses if response.served_by in (None, first)]

    def held_by_another(self) -> str | None:
        """Key of a trial that another run is asking, if this one has nothing else to ask."""
        held = (key for model, key in self._held.items() if model not in self._stopped)
        return next(held, None)

    def _cut(self, keys: Sequence[str], size: int) -> Iterator[list[str]]:
        """Cut trials into batches of one instruction and of like length, against padding."""

        def order(key: str) -> tuple[str, int]:
            trial = self._trials[key]
            stimulus, instruction = self._stimuli[trial.stimulus_id], trial.arm.instruction or ""
            words = [stimulus.presented_text or stimulus.text, stimulus.history, *trial.arm.steps]
            return instruction, -sum(map(len, words))

        ordered = sorted(keys, key=order)
        return (ordered[start : start + size] for start in range(0, len(ordered), size))

    def _left(self, keys: Sequence[str]) -> list[str]:
        return [key for key in keys if key not in self._finished and key not in self._failed]

    def _batch(self, keys: Sequence[str]) -> Batch:
        trials = [self._trials[key] for key in keys]
        conversations = [
            conversation(
                self._stimuli[trial.stimulus_id],
                self._build,
                trial.arm.instruction,
                trial.arm.steps,
            )
            for trial in trials
        ]
        return Batch(trials, conversations, trials[0].arm.generation)
