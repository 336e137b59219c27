"""Progress for people: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_LINE_EVERY_S = 10.0


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with how much is done and how much there is; shows the time left."""
    if sys.stderr.isatty():
        with _bar(what) as update:
            yield update
    else:
        yield _lines(what)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeRemainingColumn(), transient=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(what: str) -> Callable[[int, int], None]:
    started, printed, first = time.monotonic(), float("-inf"), -1

    def update(done: int, total: int) -> None:
        nonlocal printed, first
        now = time.monotonic()
        if first < 0:
            first = done
        if done < total and now - printed < _LINE_EVERY_S:
            return
        printed = now
        line = f"{what}: {done} of {total}"
        if first < done < total:
            left_s = (now - started) / (done - first) * (total - done)
            left = f"{left_s:.0f} s" if left_s < 90 else f"{left_s / 60:.0f} min"
            line += f", about {left} left"
        print(line, file=sys.stderr, flush=True)

    return update
