"""Run jobs in threads or processes of this machine, or in any other executor."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")


def map_jobs(
    make: Callable[[Job], Made], jobs: Iterable[Job], workers: int | Executor
) -> Iterator[Made]:
    """Yield ``make(job)`` for every job, in order; the first failure ends the rest.

    ``workers`` is a number of processes on this machine (1: this process), or an executor of
    ``concurrent.futures``, such as ``dask.distributed.Client(address).get_executor()``. Jobs must
    be picklable and self-contained, because remote workers may share no disk with this process.
    """
    if isinstance(workers, Executor):
        yield from workers.map(make, jobs)
    elif workers == 1:
        yield from map(make, jobs)
    else:
        # Spawned, not forked: this process may have threads of the speech and hearing libraries.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, _end_with_parent) as pool:
            # Blocked signals are inherited, so that Ctrl-C reaches only this process.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            made = pool.map(make, jobs)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            try:
                yield from made
            except BaseException:
                for worker in multiprocessing.active_children():
                    worker.kill()
                raise


def in_threads(
    make: Callable[[Job], Made], jobs: Iterable[Job], *, side_by_side: bool
) -> Generator[Made, None, None]:
    """Like :func:`map_jobs`, in this thread, or in :func:`one_core_threads` if ``side_by_side``."""
    if not side_by_side:
        yield from map(make, jobs)
        return
    with one_core_threads() as (submit, _):
        for future in [submit(make, job) for job in jobs]:
            yield future.result()


@contextmanager
def one_core_threads() -> Iterator[tuple[Callable[..., Future[Any]], int]]:
    """Yield a function that submits jobs to threads with one torch core each, and their number.

    A job sees the caller's context variables. Jobs not started when the block ends are cancelled.
    """
    import torch

    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))

    def submit(make: Callable[..., Made], *arguments: Any) -> Future[Made]:
        return pool.submit(copy_context().run, make, *arguments)

    try:
        yield submit, threads
    finally:
        torch.set_num_threads(threads)
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this worker when its parent process ends, even if the parent was killed."""

    def watch() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
