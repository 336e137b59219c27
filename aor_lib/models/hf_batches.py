"""Batches as large as memory allows; the next batch's inputs are prepared meanwhile."""

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch

from aor_lib.models.base import Failure, Result

Places = tuple[int, ...]  # a batch: positions of its conversations among all

_NO_ROOM = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
_DEAD = ("device-side assert", "unspecified launch failure", "illegal memory", "no longer usable")


class Batches:
    """Batches of at most ``size`` conversations, or fewer once a batch did not fit into memory."""

    def __init__(self, size: int) -> None:
        self._size = size

    def results(
        self,
        alike: Mapping[int, Hashable],
        prepare: Callable[[Places], Any],
        answer: Callable[[Places, Any], Sequence[Result]],
    ) -> Iterator[dict[int, Result]]:
        """Yield results batch by batch, by position of the conversation.

        A batch that runs out of memory is halved; one that fails otherwise is run one by one; the
        error of a dead GPU is raised. ``alike`` maps positions to keys, and only those with equal
        keys share a batch. ``prepare`` makes a batch's inputs in a thread; ``answer`` answers it.
        """
        common = dict(alike)
        order = {key: number for number, key in enumerate(dict.fromkeys(common.values()))}
        waiting = sorted(common, key=lambda place: order[common[place]])
        coming: dict[Places, Future[Any]] = {}
        with ThreadPoolExecutor(1) as thread:
            while batch := self._next(waiting, common):
                inputs = coming.get(batch) or thread.submit(prepare, batch)
                following = self._next(waiting[len(batch) :], common)
                coming = {following: thread.submit(prepare, following)} if following else {}
                results: Sequence[Result] = ()
                failure = None
                try:
                    results = answer(batch, inputs.result())
                except Exception as error:
                    if is_dead_gpu(error):
                        raise
                    failure, no_room = Failure.of(error), _lacks_memory(error)
                # Here nothing refers to the failed batch's tensors any more.
                if failure is not None:
                    torch.cuda.empty_cache()
                    if len(batch) == 1:
                        results = [failure]
                    elif no_room:
                        self._size = len(batch) // 2
                    else:
                        common |= {place: ("alone", place) for place in batch}
                if results:
                    yield dict(zip(batch, results, strict=True))
                    waiting = waiting[len(batch) :]

    def _next(self, waiting: Sequence[int], common: Mapping[int, Hashable]) -> Places:
        same = itertools.takewhile(lambda place: common[place] == common[waiting[0]], waiting)
        return tuple(itertools.islice(same, self._size))


def is_dead_gpu(error: Exception) -> bool:
    """True if an error means that this process can no longer use its GPU."""
    of_gpu = isinstance(error, torch.AcceleratorError) and not _lacks_memory(error)
    return of_gpu or any(words in str(error) for words in _DEAD)


def _lacks_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or any(words in str(error) for words in _NO_ROOM)
