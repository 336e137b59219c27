"""Work spread over processes of this machine."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")


def map_in_processes(
    make: Callable[[Job], Made], jobs: Iterable[Job], workers: int
) -> Iterator[Made]:
    """``make`` of every job, in the jobs' order; the first failure ends the rest and is raised.

    ``make`` and the jobs must be picklable. One worker works in this process.
    """
    if workers == 1:
        yield from map(make, jobs)
        return
    # Spawned, not forked: this process may hold threads of the speech and hearing libraries.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        try:
            yield from pool.map(make, jobs)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
