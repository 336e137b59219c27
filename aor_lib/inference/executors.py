"""Batches of trials given to models: what an executor is, and the one that works in this process.

An executor gets each model with a queue of batches, and gives back every batch with its outcome.
It takes a batch from a queue only when there is room for one; a queue may end early. Where it
is closed before its end, what is under way is given up.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from aor_lib.config.records import Generation, Response, Status, Trial
from aor_lib.models.base import (
    Answer,
    AudioModel,
    ConcurrentModel,
    Conversation,
    Failure,
    ModelError,
)
from aor_lib.models.steps import answer_in_steps, has_steps


@dataclass(frozen=True)
class Batch:
    """Trials of one model that are asked together, and their conversations."""

    trials: Sequence[Trial]
    conversations: Sequence[Conversation]
    generation: Generation


@dataclass(frozen=True)
class Outcome:
    """Outcome of a batch: a result for each trial, or why the model can be asked no more.

    ``latency_s`` is the time that the batch took, over the number of its trials.
    """

    results: Sequence[Answer | Failure] = ()
    latency_s: float = 0.0
    stopped: str | None = None

    def responses(self, keys: Sequence[str]) -> list[Response]:
        """Results as they are kept, one for each trial's key; no words are no answer."""
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
        else:
            for batch in queue:
                yield batch, ask(model, batch.conversations, batch.generation)


def ask(
    model: AudioModel, conversations: Sequence[Conversation], generation: Generation
) -> Outcome:
    """Ask a model a batch of conversations; whatever goes wrong is in the outcome."""
    answer = functools.partial(answer_in_steps, model, conversations, generation)
    return _outcome(answer, len(conversations), time.monotonic())


def _several_at_once(
    model: ConcurrentModel, queue: Iterator[Batch]
) -> Generator[tuple[Batch, Outcome], None, None]:
    under_way: dict[Future[list[Answer | Failure]], tuple[Batch, float]] = {}

    def submit(batches: int) -> None:
        for batch in itertools.islice(queue, batches):
            started = time.monotonic()
            under_way[_submit(model, batch)] = batch, started

    try:
        submit(model.calls_at_once)
        while under_way:
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                batch, started = under_way.pop(future)
                yield batch, _outcome(future.result, len(batch.trials), started)
                submit(1)
    finally:
        for future in under_way:
            future.cancel()


def _submit(model: ConcurrentModel, batch: Batch) -> Future[list[Answer | Failure]]:
    if not any(map(has_steps, batch.conversations)):
        return model.submit(batch.conversations, batch.generation)
    # A step needs the answers to the one before: this batch is waited for.
    future: Future[list[Answer | Failure]] = Future()
    try:
        future.set_result(answer_in_steps(model, batch.conversations, batch.generation))
    except Exception as error:  # noqa: BLE001 - raised where the result is asked for
        future.set_exception(error)
    return future


def _outcome(answer: Callable[[], list[Answer | Failure]], asked: int, started: float) -> Outcome:
    try:
        results = answer()
        if len(results) != asked:
            raise ValueError(f"{len(results)} results for {asked} conversations")
    except ModelError as error:
        return Outcome(stopped=str(error))
    except Exception as error:  # noqa: BLE001 - one adapter's mistake must not end a run of many
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
        results = [Failure(reason)] * asked
    return Outcome(results, (time.monotonic() - started) / asked)


def _response(key: str, result: Answer | Failure, latency_s: float, created: str) -> Response:
    if isinstance(result, Answer) and not result.text.strip():
        result = Failure("empty answer")
    row: dict[str, Any] = dict.fromkeys(("text", "error", "heard", "tokens"))
    if isinstance(result, Failure):
        row |= {"status": Status.BLOCKED if result.blocked else Status.FAILED}
        row |= {"error": result.error}
    else:
        row |= {"status": Status.OK, "text": result.text, "tokens": result.tokens}
        if result.heard:
            row["heard"] = json.dumps(result.heard, ensure_ascii=False)
    return Response(trial_key=key, latency_s=latency_s, created=created, **row)
