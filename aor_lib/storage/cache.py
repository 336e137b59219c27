"""Arrays that are costly to make, kept in the user's cache by the hash of their origin."""

import zipfile
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from aor_lib.config.records import content_hash
from aor_lib.storage.assets import cache_folder
from aor_lib.storage.atomic_write import atomic_write

Arrays = dict[str, npt.NDArray[np.generic]]


def load_or_make(kind: str, made_from: object, make: Callable[[], Arrays]) -> Arrays:
    """Load the arrays that an earlier call kept in a folder of the cache, or make and keep them.

    The file is named by the hash of ``made_from``: everything that can change the result
    (JSON-like). A damaged file is made again.
    """
    key = content_hash(made_from)
    path = cache_folder() / kind / key[:2] / f"{key}.npz"
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        arrays = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)
    return arrays
