"""Files that are whole or not there: a name never stands for half of its content."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content becomes ``path`` when the block ends without an error.

    The folder must exist; the stream is a file in it until it is moved into place. An OSError (a
    full disk, say) names ``path``, which is as it was.
    """
    try:
        descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".partial")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
            Path(partial).chmod(0o644)
            Path(partial).replace(path)
        finally:
            Path(partial).unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
