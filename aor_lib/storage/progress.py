"""Progress for people: a bar on a terminal, elsewhere a plain line every ten seconds."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

_LINE = "{desc}: {n_fmt} of {total_fmt}, {rate_fmt}, {remaining} left\n"


@contextmanager
def progress(description: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress, with its rate and the time left, while the block runs.

    Yields a function to call with the number of items that are done and the number of all. Those
    of its first call were done before the start, and say nothing about the rate. Another number of
    all begins another count.
    """
    bars: list[Any] = []  # the present one
    terminal = sys.stderr.isatty()

    def update(done: int, total: int) -> None:
        if bars and bars[0].total != total:
            bars.pop().close()
        if not bars:
            if done == total:
                return  # there was nothing to do
            bars.append(
                tqdm(
                    desc=description,
                    initial=done,
                    total=total,
                    mininterval=0.1 if terminal else 10,
                    miniters=1,
                    bar_format=None if terminal else _LINE,
                    file=sys.stderr,
                )
            )
        bars[0].update(done - bars[0].n)

    try:
        yield update
    finally:
        for bar in bars:
            bar.close()
