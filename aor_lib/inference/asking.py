"""Batches of trials given to a model, several at once where it can take them."""

from __future__ import annotations

import datetime
import itertools
import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from typing import Any

from aor_lib.config.records import Response, Status, Trial
from aor_lib.models import base
from aor_lib.models.base import Answer, AudioModel, Conversation, Failure
from aor_lib.models.steps import answers_in_steps
from aor_lib.storage.workers import one_core_threads

Batch = Mapping[Trial, Conversation]
"""Trials that are asked together, with the same settings of generation."""


@dataclass(frozen=True)
class Outcome:
    """Results of a batch, or of a part of it."""

    batch: Batch
    results: Mapping[str, Answer | Failure]  # by trial key
    latency_s: float  # per trial
    stopped: str | None = None  # why the model can be asked no more
    is_last: bool = True  # nothing more comes of the batch


_Outcomes = Future[list[Outcome]]


def ask(model: AudioModel, batches: Iterator[Batch]) -> Generator[Outcome, None, None]:
    """Ask a model batch by batch and yield outcomes."""
    if isinstance(model, base.ConcurrentModel):
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
    row: dict[str, Any] = {"trial_key": key, "latency_s": round(latency_s, 3), "created": now}
    if isinstance(result, Failure):
        status = Status.BLOCKED if result.blocked else Status.FAILED
        return Response(**row, status=status, text=None, error=result.error, tokens=None)
    row |= asdict(result)
    row["heard"] = json.dumps(result.heard, ensure_ascii=False) if result.heard else None
    return Response(**row, status=Status.OK, error=None)


def _at_once(
    model: AudioModel, batches: Iterator[Batch], submit: Callable[..., _Outcomes], count: int
) -> Generator[Outcome, None, None]:
    under_way: set[_Outcomes] = set()
    while True:
        taken = itertools.islice(batches, count - len(under_way))
        under_way |= {submit(list, _parts(model, batch)) for batch in taken}
        if not under_way:
            return
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            under_way.remove(future)
            yield from future.result()


def _parts(model: AudioModel, batch: Batch) -> Iterator[Outcome]:
    keys = [trial.key for trial in batch]
    left, began = set(keys), time.monotonic()
    generation = next(iter(batch)).arm.generation
    try:
        for came in answers_in_steps(model, list(batch.values()), generation):
            results = {keys[place]: result for place, result in came.items()}
            left -= results.keys()
            latency_s = (time.monotonic() - began) / len(results)
            yield Outcome(batch, results, latency_s, is_last=not left)
            began = time.monotonic()
        if left:
            raise ValueError(f"no results for {len(left)} of {len(keys)} conversations")
    except Exception as error:  # noqa: BLE001 - one adapter's mistake must not end a run of many
        if left:
            stopped = str(error) if isinstance(error, base.ModelError) else None
            failed = {} if stopped else dict.fromkeys(left, base.failure_of(error))
            yield Outcome(batch, failed, (time.monotonic() - began) / len(left), stopped)
