"""Work spread over processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
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
    with ProcessPoolExecutor(workers, context, _end_with_parent) as pool:
        try:
            yield from pool.map(make, jobs)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """Have this worker end when the process that started it does, even by SIGKILL."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
