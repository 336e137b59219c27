"""Atomic writes of files and folders."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content becomes ``path`` when the block ends without an error.

    Creates its folder. An error leaves ``path`` unchanged; that of a full disk names ``path``.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".partial")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
            Path(partial).chmod(0o644)
            Path(partial).replace(path)
        finally:
            Path(partial).unlink(missing_ok=True)
    except OSError as error:
        if error.errno is None or not str(error.filename or ".partial").endswith(".partial"):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def atomic_folder(into: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes ``into`` when the block ends without an error.

    FileExistsError if ``into`` is a file or a non-empty folder.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise FileExistsError(f"{into}: exists and is not empty; remove it or name another folder")
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".", suffix=".partial") as scratch:
        partial = Path(scratch) / "whole"
        partial.mkdir()  # with normal permissions, unlike the temporary folder around it
        yield partial
        if into.exists():
            into.rmdir()
        partial.replace(into)
