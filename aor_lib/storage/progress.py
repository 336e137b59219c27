"""Progress for people: a bar on a terminal, a plain line now and then elsewhere.

Both say how fast it goes and how much time is left.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

_LINE_EVERY_S = 10.0


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with how much is done and how much there is."""
    if sys.stderr.isatty():
        with _bar(what) as update:
            yield update
    else:
        yield _lines(what)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, _Rate(), TimeRemainingColumn(), transient=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(_rate(task.speed) if task.speed else "")


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
            rate = (done - first) / max(now - started, 1e-9)
            left_s = (total - done) / rate
            left = f"{left_s:.0f} s" if left_s < 90 else f"{left_s / 60:.0f} min"
            line += f", {_rate(rate)}, about {left} left"
        print(line, file=sys.stderr, flush=True)

    return update


def _rate(per_second: float) -> str:
    return f"{per_second:.3g} a second" if per_second >= 1 else f"{per_second * 60:.3g} a minute"
