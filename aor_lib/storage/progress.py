"""How far a study is: progress bars for people, and which of its stages are current."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from aor_lib.config.records import content_hash
from aor_lib.storage.atomic_write import atomic_write

Report = Callable[[int, int], None]  # called with the number of items that are done, and of all
_STAGES = ".stages"  # folder with the hash of what each finished stage was made from
_LINE = "{desc}: {n_fmt} of {total_fmt}, {rate_fmt}, {remaining} left\n"


@contextmanager
def progress(description: str) -> Iterator[Report]:
    """Show progress, its rate and the time left: a bar on a terminal, else a line every 10 s.

    Yields a function to call with the numbers of items done and of all items. Items done at its
    first call do not count for the rate; another number of all items begins another count.
    """
    bars: list[Any] = []  # the present one
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
    """Tell if a stage was last finished from all that can change its output (JSON-like)."""
    path = build / _STAGES / stage
    return path.is_file() and path.read_bytes() == content_hash(made_from).encode()


def finished(build: Path, stage: str, made_from: object) -> None:
    """Record that a stage's output is whole, and from which inputs it was made."""
    with atomic_write(build / _STAGES / stage) as stream:
        stream.write(content_hash(made_from).encode())
