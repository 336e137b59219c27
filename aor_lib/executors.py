"""Batches of trials given to models: what an executor is, and the one that works in this process.

An executor gets each model with a queue of batches, and gives back every batch with what came of
it. It takes a batch from a queue only when there is room for one; a queue may end early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from aor_lib.models.base import Answer, AudioModel, Conversation, Failure, ModelError
from aor_lib.records import Generation, Trial


@dataclass(frozen=True)
class Batch:
    """Trials of one model that are asked together, and what it is asked in each."""

    trials: Sequence[Trial]
    conversations: Sequence[Conversation]
    generation: Generation


@dataclass(frozen=True)
class Outcome:
    """What came of a batch: a result for each trial, or why the model can be asked no more."""

    results: Sequence[Answer | Failure] = ()
    latency_s: float = 0.0
    """Time that the batch took, over the number of its trials."""
    stopped: str | None = None


Queues = Sequence[tuple[AudioModel, Iterator[Batch]]]
Executor = Callable[[Queues], Iterator[tuple[Batch, Outcome]]]


def in_process(queues: Queues) -> Iterator[tuple[Batch, Outcome]]:
    """Ask in this process, one batch at a time and one model after the other."""
    for model, queue in queues:
        for batch in queue:
            yield batch, ask(model, batch.conversations, batch.generation)


def ask(
    model: AudioModel, conversations: Sequence[Conversation], generation: Generation
) -> Outcome:
    """What a model makes of a batch; whatever goes wrong is in the outcome."""
    started = time.monotonic()
    try:
        results = model.answer(conversations, generation)
        if len(results) != len(conversations):
            raise ValueError(f"{len(results)} results for {len(conversations)} conversations")
    except ModelError as error:
        return Outcome(stopped=str(error))
    except Exception as error:  # noqa: BLE001 - one adapter's mistake must not end a run of many
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
        results = [Failure(reason)] * len(conversations)
    return Outcome(results, (time.monotonic() - started) / len(conversations))
