"""Progress of a study: progress bars, and records of which stages are up to date."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from aor_lib.config.records import content_hash
from aor_lib.storage.atomic_write import atomic_write

Report = Callable[[int, int], None]  # called with the numbers of items done and in total
_STAGES = ".stages"  # folder with the hash of what each finished stage was made from
_LINE = "{desc}: {n_fmt} of {total_fmt}, {rate_fmt}, {remaining} left\n"


@contextmanager
def progress(description: str) -> Iterator[Report]:
    """Show progress, its rate and the time left: a bar on a terminal, else a line every 10 s.

    Yields a function to call with the numbers of items done and in total. Items done at its first
    call do not count towards the rate; a different total starts a new count.
    """
    bars: list[Any] = []  # the current bar, if any
    options: dict[str, Any] = {"desc": description, "miniters": 1, "file": sys.stderr}
    if not sys.stderr.isatty():
        options |= {"mininterval": 10, "bar_format": _LINE}

    def update(done: int, total: int) -> None:
        if bars and bars[0].total != total:
            bars.pop().close()
        if not bars:
            if done == total:
                return  # there was nothing to do
            bars.append(tqdm(initial=done, total=total, **options))
        bars[0].update(done - bars[0].n)

    try:
        yield update
    finally:
        for bar in bars:
            bar.close()


def up_to_date(build: Path, stage: str, made_from: object) -> bool:
    """True if a stage last finished with the same inputs (all that affect it, JSON-like)."""
    path = build / _STAGES / stage
    return path.is_file() and path.read_bytes() == content_hash(made_from).encode()


def finished(build: Path, stage: str, made_from: object) -> None:
    """Record that a stage's output is complete, and the inputs from which it was made."""
    with atomic_write(build / _STAGES / stage) as stream:
        stream.write(content_hash(made_from).encode())
