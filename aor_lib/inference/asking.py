"""Batches of trials given to a model: one at a time, or several at once where it can take them."""

from __future__ import annotations

import datetime
import itertools
import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from aor_lib.config.records import Response, Status, Trial
from aor_lib.models.base import (
    Answer,
    AudioModel,
    ConcurrentModel,
    Conversation,
    Failure,
    ModelError,
    failure_of,
)
from aor_lib.models.steps import answers_in_steps
from aor_lib.storage.workers import one_core_threads


@dataclass(frozen=True)
class Batch:
    """Trials of one arm's settings that are asked together, and their conversations."""

    trials: Sequence[Trial]
    conversations: Sequence[Conversation]


@dataclass(frozen=True)
class Outcome:
    """What came of a batch, or of a part of it.

    ``results`` are by trial key, ``latency_s`` is the time that each of them took. ``stopped`` says
    why the model can be asked no more; ``is_last``: nothing more will come of the batch.
    """

    batch: Batch
    results: Mapping[str, Answer | Failure] = field(default_factory=dict)
    latency_s: float = 0.0
    stopped: str | None = None
    is_last: bool = True


def ask(model: AudioModel, batches: Iterator[Batch]) -> Generator[Outcome, None, None]:
    """Ask a model batch by batch, and yield what comes as it comes.

    A batch is taken from ``batches`` only when there is room for one. Where a run is interrupted,
    what is under way in threads is waited for, and yielded.
    """
    if (first := next(batches, None)) is None:
        return  # one-core threads would load torch, half of the time of such a run
    batches = itertools.chain([first], batches)
    if isinstance(model, ConcurrentModel):
        with ThreadPoolExecutor(model.calls_at_once) as threads:
            yield from _at_once(model, batches, threads.submit, model.calls_at_once)
    elif model.capabilities.side_by_side:
        with one_core_threads() as (submit, count):
            for outcome in _at_once(model, batches, submit, count):
                yield replace(outcome, latency_s=outcome.latency_s / count)
    else:
        for batch in batches:
            yield from _parts(model, batch)


def response_of(key: str, result: Answer | Failure, latency_s: float) -> Response:
    """The row that keeps the result of a trial."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    about: dict[str, Any] = {"trial_key": key, "latency_s": round(latency_s, 3), "created": now}
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


def _at_once(
    model: AudioModel,
    batches: Iterator[Batch],
    submit: Callable[..., Future[Outcome]],
    count: int,
) -> Generator[Outcome, None, None]:
    under_way: set[Future[Outcome]] = set()
    try:
        while True:
            room = count - len(under_way)
            under_way |= {submit(_whole, model, batch) for batch in itertools.islice(batches, room)}
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                under_way.remove(future)
                yield future.result()
    except KeyboardInterrupt:
        # A thread cannot be stopped. While it is waited for, what it answers is kept.
        for future in under_way:
            yield future.result()
        raise


def _whole(model: AudioModel, batch: Batch) -> Outcome:
    results: dict[str, Answer | Failure] = {}
    began = time.monotonic()
    for part in _parts(model, batch):
        results.update(part.results)
    latency_s = (time.monotonic() - began) / len(batch.trials)
    return replace(part, results=results, latency_s=latency_s)


def _parts(model: AudioModel, batch: Batch) -> Iterator[Outcome]:
    keys = [trial.key for trial in batch.trials]
    left, began = dict.fromkeys(keys), time.monotonic()
    generation = batch.trials[0].arm.generation
    try:
        for came in answers_in_steps(model, batch.conversations, generation):
            results = {keys[place]: result for place, result in came.items()}
            for key in results:
                del left[key]
            took_s = time.monotonic() - began
            yield Outcome(batch, results, took_s / len(results), is_last=not left)
            began = time.monotonic()
        if left:
            raise ValueError(f"no results for {len(left)} of {len(keys)} conversations")
    except ModelError as error:
        yield Outcome(batch, stopped=str(error))
    except Exception as error:  # noqa: BLE001 - one adapter's mistake must not end a run of many
        failed = dict.fromkeys(left, failure_of(error))
        yield Outcome(batch, failed, (time.monotonic() - began) / max(1, len(left)))
