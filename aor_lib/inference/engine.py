"""The only loop over trials: batch, run, record, resume.

Batches are cut from the whole plan, so that a resumed run has the same batches as an uninterrupted
one, and padding cannot make their answers differ. Several runs may share a store: each locks a
batch with a file beside the store, and the system releases the lock when the process ends.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from filelock import FileLock, Timeout

from aor_lib.config.params import ModelCard, StudyParams
from aor_lib.config.records import Generation, Response, Status, Stimulus, Trial
from aor_lib.inference.asking import Batch, Outcome, ask, provenance_of, response_of
from aor_lib.inference.planning import absent, conversation, left_out, plan_trials
from aor_lib.inference.store import STEERED, STORE, STUDY, Store
from aor_lib.models.base import AudioModel, ConcurrentModel, ModelError
from aor_lib.models.registry import load_model
from aor_lib.stimuli.manifest import load_stimuli, verify_dataset
from aor_lib.storage.progress import Report

BATCH = 256  # trials passed to a model at once; the adapter may split them into smaller batches
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Share:
    """The share of a study's trials that a run covers, and when it stops a model."""

    models: Collection[str] = ()  # ids; empty for all
    shard: tuple[int, int] = (1, 1)  # (i, n): the i-th of n shards of the batches, from 1
    max_failures: float = 0.1  # per model: below 1 a share of its trials, otherwise a count


def run_study(
    study: StudyParams,
    build: Path,
    report: Report,
    say: Callable[[str], None],
    share: Share = Share(),
) -> set[str]:
    """Run every model on its unfinished trials; ``say`` gets lines about missing answers.

    Returns their kinds: ``failed``, ``blocked``, ``missing`` (also for stopped or absent models).
    """
    stimuli = load_stimuli(build)
    verify_dataset(stimuli, build)
    chosen = [card for card in study.models if not share.models or card.id in share.models]
    loaded, unable = load_models(chosen)
    for reason in unable.values():
        say(f"not asked: {reason}")
    for (name, untaken), count in left_out(study, stimuli, loaded).items():
        say(f"{name}: {count} trials are left out: the model does not take {untaken}")
    here = {model.card.id: model for model in loaded}
    with Store(build / STORE) as store:
        with store.transaction():  # else the plan could omit models of a run that starts meanwhile
            # Trials of models that answered before or run in another process stay in the plan.
            planned = {trial.arm.model: trial.arm.revision for trial in store.planned(STUDY)}
            cards = [card for card in study.models if card.id in here or card.id in planned]
            all_models = [here.get(card.id) or absent(card, planned) for card in cards]
            trials = plan_trials(study, stimuli, all_models)
            store.set_plan(trials)
            steered = {card.id for card in study.models if study.profile.steers(card.id)}
            for name in store.cards().keys() - steered:
                store.set_plan([], STEERED + name)
            store.record_cards([model.card for model in loaded])
        run = Run(trials, loaded, stimuli, build, store, share)
        run.answer(report)
        for name, reason in run.stopped.items():
            say(f"{name} was stopped: {reason}")
        lacking = unanswered(store).loc[lambda rows: rows["trial_key"].isin(run.keys)]
        for line in reasons(lacking):
            say(line)
    blocked = lacking.loc[lacking["status"] == Status.BLOCKED, "trial_key"].nunique()
    done, failed, total = len(run.finished), len(run.failed), len(run.keys)
    rest = f"{failed} failed, {total - done - failed} left, {blocked} blocked"
    say(f"{done - blocked} of {total} trials done, {rest}")
    return {*lacking["status"], *(["missing"] if unable or run.stopped else [])}


def load_models(cards: Sequence[ModelCard]) -> tuple[list[AudioModel], dict[str, str]]:
    """Load the models that can run here; also return, by id, why the others cannot."""
    loaded, unable = [], dict[str, str]()
    for card in cards:
        try:
            loaded.append(load_model(card))
        except ModelError as error:
            unable[card.id] = str(error)
    return loaded, unable


def unanswered(store: Store) -> pd.DataFrame:
    """Trials of the study without an answer, with the ``status`` and ``error`` of each."""
    lacking = store.frame("").query("part != 'imported' and status != 'ok'")
    return lacking.fillna({"status": "missing", "error": "not asked yet"})


def reasons(lacking: pd.DataFrame) -> list[str]:
    """Lines that count trials without an answer, by model, mitigation and reason."""
    kinds = lacking.value_counts(["model", "mitigation", "status", "error"]).head(20)
    rows = kinds.reset_index(name="times").itertuples()
    return [f"{r.times} x {r.model} {r.mitigation} {r.status}: {r.error}" for r in rows]


class Run:
    """One run over trials of the store's plan: runs those without an answer, records the results.

    ``keys`` are the keys of its trials: ``finished`` (answered or blocked, now or earlier),
    ``failed`` in this run, or left. ``stopped`` maps each stopped model to the reason.
    """

    def __init__(
        self,
        trials: Sequence[Trial],
        models: Sequence[AudioModel],
        stimuli: Sequence[Stimulus],
        build: Path,
        store: Store,
        share: Share = Share(),
    ) -> None:
        self._models, self._build, self._store = models, build, store
        self._stimuli = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
        # Stimuli with the same content share one trial.
        asked = {trial.key: trial for trial in trials}.values()
        number, of = share.shard
        self._batches = {m.card.id: list(self._cut(m, asked))[number - 1 :: of] for m in models}
        self.keys = {t.key for some in self._batches.values() for batch in some for t in batch}
        self._allowed = {
            name: share.max_failures * (sum(map(len, batches)) if share.max_failures < 1 else 1)
            for name, batches in self._batches.items()
        }
        self.finished: set[str] = set()
        self.failed: set[str] = set()
        self.stopped: dict[str, str] = {}
        self._failures: Counter[str] = Counter()
        self._served_by: dict[str, str] = {}
        self._locks: dict[Trial, FileLock] = {}  # by the first trial of the batch

    def answer(self, report: Report) -> None:
        """Run until no trial is left, here or in another run on the store."""
        try:
            for waits in (False, True):
                self.finished = self._store.finished() & self.keys
                self.failed -= self.finished
                report(len(self.finished) + len(self.failed), len(self.keys))
                if waits and not self.stopped and self.keys - self.finished - self.failed:
                    _log.warning("waiting for another run, which has the remaining trials")
                for model in self._models:
                    if not any(map(self._left, self._batches[model.card.id])):
                        continue  # its threads would load torch: half the time of such a run
                    # Closed even after an error, so that no further requests are sent and billed.
                    with closing(ask(model, self._lock_batches(model, waits))) as outcomes:
                        for outcome in outcomes:
                            self._record(model, outcome)
                            report(len(self.finished) + len(self.failed), len(self.keys))
        finally:
            for lock in self._locks.values():
                _unlock(lock)

    def _cut(self, model: AudioModel, trials: Iterable[Trial]) -> Iterator[list[Trial]]:
        def order(trial: Trial) -> tuple[str, int]:
            stimulus, instruction = self._stimuli[trial.stimulus_id], trial.arm.instruction or ""
            words = [stimulus.presented_text or stimulus.text, stimulus.history, *trial.arm.steps]
            return instruction, -sum(map(len, words))

        alike: dict[Generation, list[Trial]] = defaultdict(list)
        for trial in trials:
            if trial.arm.model == model.card.id:
                alike[trial.arm.generation].append(trial)
        # Concurrent calls have one trial each.
        one_by_one = isinstance(model, ConcurrentModel)
        size = 1 if one_by_one else min(BATCH, model.capabilities.at_once or BATCH)
        for some in alike.values():
            ordered = sorted(some, key=order)
            yield from (ordered[start : start + size] for start in range(0, len(some), size))

    def _lock_batches(self, model: AudioModel, waits: bool) -> Iterator[Batch]:
        for batch in self._batches[model.card.id]:
            if model.card.id in self.stopped:
                return
            if not self._left(batch):
                continue
            lock = FileLock(f"{self._store.path}-{batch[0].key}.lock", blocking=waits)
            try:
                lock.acquire()
            except Timeout:
                continue
            # Another run may have just finished some of them.
            self.finished |= self._store.finished([trial.key for trial in batch])
            if not (left := self._left(batch)):
                _unlock(lock)
                continue
            self._locks[left[0]] = lock
            yield {t: conversation(self._stimuli[t.stimulus_id], self._build, t.arm) for t in left}

    def _left(self, batch: Sequence[Trial]) -> list[Trial]:
        return [t for t in batch if t.key not in self.finished and t.key not in self.failed]

    def _record(self, model: AudioModel, outcome: Outcome) -> None:
        name, results = model.card.id, outcome.results
        responses = [response_of(key, result, outcome.latency_s) for key, result in results.items()]
        responses = self._of_one_model(model, responses)
        failed = {response.trial_key for response in responses if response.status is Status.FAILED}
        # Outside the transaction, because this may query a server for its version.
        answered_here = [provenance_of(model)] if len(failed) < len(responses) else []
        with self._store.transaction():
            self._store.record(responses)
            self._store.record_provenance(answered_here)
        self.finished |= {response.trial_key for response in responses} - failed
        self.failed |= failed
        self._failures[name] += len(failed)
        if outcome.stopped is not None:
            self.stopped[name] = outcome.stopped
        elif self._failures[name] > self._allowed[name]:
            failures = f"{self._failures[name]} of its trials failed in this run"
            self.stopped[name] = f"{failures}, more than the {self._allowed[name]:g} allowed"
        if outcome.is_last:
            _unlock(self._locks.pop(next(iter(outcome.batch))))

    def _of_one_model(self, model: AudioModel, responses: list[Response]) -> list[Response]:
        """Drop answers served by another model than those in the store; stop querying it."""
        name = model.card.id
        for other in filter(None, (response.served_by for response in responses)):
            if name not in self._served_by:
                self._served_by[name] = self._store.served_by(name, model.revision) or other
            if other != (first := self._served_by[name]):
                advice = "give the new model a card of its own, or this card another revision"
                self.stopped[name] = f"{other!r} answers now, but {first!r} did before; {advice}"
        ours = (None, self._served_by.get(name))
        return [response for response in responses if response.served_by in ours]


def _unlock(lock: FileLock) -> None:
    Path(lock.lock_file).unlink(missing_ok=True)  # while held: filelock notices that it is gone
    lock.release()
