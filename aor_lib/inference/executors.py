"""Batches of trials given to models: what an executor is, and the one that works in this process.

An executor gets each model with a queue of batches. It gives back every batch with its outcome, or
parts of it as soon as they have one: what a run has recorded is kept when it is killed. It takes a
batch from a queue only when there is room for one; a queue may end early. Where it is closed before
its end, what is under way is given up.
"""

from __future__ import annotations

import datetime
import itertools
import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

from aor_lib.config.records import Generation, Response, Status, Trial
from aor_lib.models.base import (
    Answer,
    AudioModel,
    ConcurrentModel,
    Conversation,
    Failure,
    ModelError,
    failure_of,
)
from aor_lib.models.steps import Steps, answers_in_steps, in_steps
from aor_lib.storage.workers import one_core_threads


@dataclass(frozen=True)
class Batch:
    """Trials of one model that are asked together, and their conversations."""

    trials: Sequence[Trial]
    conversations: Sequence[Conversation]
    generation: Generation

    def part(self, places: Sequence[int]) -> Batch:
        """Return the trials at some places in the batch, as a batch."""
        trials = [self.trials[place] for place in places]
        conversations = [self.conversations[place] for place in places]
        return Batch(trials, conversations, self.generation)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a batch: a result for each trial, or why the model can be asked no more.

    ``latency_s`` is the time that the batch took, over the number of its trials and of the batches
    that were asked side by side.
    """

    results: Sequence[Answer | Failure] = ()
    latency_s: float = 0.0
    stopped: str | None = None

    def responses(self, keys: Sequence[str]) -> list[Response]:
        """Results as they are kept, one for each trial's key."""
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        return [
            _response(key, result, round(self.latency_s, 3), created)
            for key, result in zip(keys, self.results, strict=True)
        ]


Queues = Sequence[tuple[AudioModel, Iterator[Batch]]]
Executor = Callable[[Queues], Generator[tuple[Batch, Outcome], None, None]]


def in_process(queues: Queues) -> Generator[tuple[Batch, Outcome], None, None]:
    """Ask in this process, one model after the other: a batch at a time, or as many as it takes."""
    for model, queue in queues:
        if isinstance(model, ConcurrentModel):
            yield from _several_at_once(model, queue)
        elif model.capabilities.side_by_side:
            yield from _side_by_side(model, queue)
        else:
            for batch in queue:
                for places, outcome in _ask(model, batch.conversations, batch.generation):
                    yield batch.part(places), outcome


def ask(
    model: AudioModel, conversations: Sequence[Conversation], generation: Generation
) -> Outcome:
    """Ask a model a batch of conversations; whatever goes wrong is in the outcome."""
    started = time.monotonic()
    results: dict[int, Answer | Failure] = {}
    for places, outcome in _ask(model, conversations, generation):
        if outcome.stopped is not None:
            return outcome
        results.update(zip(places, outcome.results, strict=True))
    took_s = time.monotonic() - started
    return Outcome([results[place] for place in sorted(results)], took_s / len(results))


def _ask(
    model: AudioModel, conversations: Sequence[Conversation], generation: Generation
) -> Iterator[tuple[Sequence[int], Outcome]]:
    """Outcomes of some of the conversations at a time, with their places."""
    left = dict.fromkeys(range(len(conversations)))
    started = time.monotonic()
    try:
        for came in answers_in_steps(model, conversations, generation):
            for place in came:
                del left[place]
            latency_s = (time.monotonic() - started) / len(came)
            yield list(came), Outcome(list(came.values()), latency_s)
            started = time.monotonic()
        if left:
            raise ValueError(f"no results for {len(left)} of {len(conversations)} conversations")
    except Exception as error:  # noqa: BLE001 - one adapter's mistake must not end a run of many
        if left:
            latency_s = (time.monotonic() - started) / len(left)
            yield list(left), _without_answers(error, len(left), latency_s)


def _side_by_side(
    model: AudioModel, queue: Iterator[Batch]
) -> Generator[tuple[Batch, Outcome], None, None]:
    under_way: dict[Future[Outcome], Batch] = {}
    if (first := next(queue, None)) is None:
        return  # threads of one core would load torch, half of the time of such a run
    queue = itertools.chain([first], queue)
    with one_core_threads() as (submit, threads):

        def submit_next(count: int) -> None:
            for batch in itertools.islice(queue, count):
                under_way[submit(ask, model, batch.conversations, batch.generation)] = batch

        def came(future: Future[Outcome]) -> tuple[Batch, Outcome]:
            outcome, beside = future.result(), len(under_way)
            return under_way.pop(future), replace(outcome, latency_s=outcome.latency_s / beside)

        submit_next(threads)
        try:
            while under_way:
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    yield came(future)
                    submit_next(1)
        except KeyboardInterrupt:
            # A thread cannot be stopped. While it is waited for, what it answers is kept.
            yield from map(came, list(under_way))
            raise


def _several_at_once(
    model: ConcurrentModel, queue: Iterator[Batch]
) -> Generator[tuple[Batch, Outcome], None, None]:
    under_way: dict[Future[list[Answer | Failure]], tuple[Batch, Steps, float]] = {}
    came: SimpleQueue[Future[list[Answer | Failure]]] = SimpleQueue()
    singles = (batch.part([place]) for batch in queue for place in range(len(batch.trials)))

    def submit(asked: Conversation, single: Batch, steps: Steps, started: float) -> None:
        future = model.submit([asked], single.generation)
        under_way[future] = single, steps, started
        future.add_done_callback(came.put)

    def submit_next(count: int) -> None:
        for single in itertools.islice(singles, count):
            steps = in_steps(single.conversations[0])
            submit(next(steps), single, steps, time.monotonic())

    try:
        submit_next(model.calls_at_once)
        while under_way:
            future = came.get()
            single, steps, started = under_way.pop(future)
            try:
                [result] = future.result()
                submit(steps.send(result), single, steps, started)
                continue
            except StopIteration as end:
                outcome = Outcome([end.value], time.monotonic() - started)
            except Exception as error:  # noqa: BLE001 - as in _ask
                outcome = _without_answers(error, 1, time.monotonic() - started)
            yield single, outcome
            submit_next(1)
    finally:
        for future in under_way:
            future.cancel()


def _without_answers(error: Exception, asked: int, latency_s: float) -> Outcome:
    if isinstance(error, ModelError):
        return Outcome(stopped=str(error))
    return Outcome([failure_of(error)] * asked, latency_s)


def _response(key: str, result: Answer | Failure, latency_s: float, created: str) -> Response:
    about: dict[str, Any] = {"trial_key": key, "latency_s": latency_s, "created": created}
    if isinstance(result, Failure):
        status = Status.BLOCKED if result.blocked else Status.FAILED
        return Response(status=status, text=None, error=result.error, tokens=None, **about)
    return Response(
        status=Status.OK,
        text=result.text,
        error=None,
        heard=json.dumps(result.heard, ensure_ascii=False) if result.heard else None,
        tokens=result.tokens,
        finish_reason=result.finish_reason,
        served_by=result.served_by,
        **about,
    )
