"""Work spread over threads or processes of this machine, or the workers of a dask cluster."""

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")

_JOBS_IN_FLIGHT = 64
"""On a cluster. Enough to keep it busy; results that nobody has fetched yet fill its memory."""


def map_jobs(
    make: Callable[[Job], Made], jobs: Iterable[Job], workers: int, scheduler: str | None = None
) -> Iterator[Made]:
    """Yield ``make`` of every job, in the jobs' order; the first failure ends the rest.

    ``make`` and the jobs must be picklable. What a job needs must be in it, and what it makes in
    the result: the workers of a cluster may share no disk with this process. ``workers`` are
    processes on this machine (one works in this process), unless ``scheduler`` is the address of a
    dask scheduler, such as ``tcp://host:8786``: OSError if none answers there.
    """
    if scheduler is not None:
        yield from _map_on_cluster(make, jobs, scheduler)
    elif workers == 1:
        yield from map(make, jobs)
    else:
        yield from _map_in_processes(make, jobs, workers)


def in_threads(
    make: Callable[[Job], Made], jobs: Iterable[Job], *, side_by_side: bool
) -> Generator[Made, None, None]:
    """Yield ``make`` of every job, in the jobs' order; the first failure ends the rest.

    Jobs run in this thread, or in :func:`one_core_threads` if ``side_by_side``.
    """
    if not side_by_side:
        yield from map(make, jobs)
        return
    with one_core_threads() as (submit, _):
        waiting = deque(submit(make, job) for job in jobs)
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def one_core_threads() -> Iterator[tuple[Callable[..., Future[Any]], int]]:
    """Threads in which torch computes on one core each: what submits to them, and their number.

    There are as many as torch uses, and its own number is restored afterwards. Whoever submits
    hands on its context variables. Jobs that have not begun when the block ends are cancelled.
    """
    import torch

    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))

    def submit(make: Callable[..., Made], *arguments: Any) -> Future[Made]:
        return pool.submit(copy_context().run, make, *arguments)

    try:
        yield submit, threads
    finally:
        try:
            pool.shutdown(cancel_futures=True)
        finally:
            torch.set_num_threads(threads)


def _map_in_processes(
    make: Callable[[Job], Made], jobs: Iterable[Job], workers: int
) -> Iterator[Made]:
    # Spawned, not forked: this process may hold threads of the speech and hearing libraries.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _end_with_parent) as pool:
        try:
            yield from pool.map(make, jobs)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """Have this worker end when the process that started it does, even when that was killed."""

    def watch() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _map_on_cluster(
    make: Callable[[Job], Made], jobs: Iterable[Job], scheduler: str
) -> Iterator[Made]:
    from distributed import Client

    connect: Any = Client
    with connect(scheduler, timeout="10s", set_as_default=False) as client:
        in_flight: deque[Any] = deque()
        for job in jobs:
            in_flight.append(client.submit(make, job, pure=False))
            if len(in_flight) >= _JOBS_IN_FLIGHT:
                yield in_flight.popleft().result()
        while in_flight:
            yield in_flight.popleft().result()
