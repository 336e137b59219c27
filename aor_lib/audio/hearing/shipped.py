"""Weights that the study trained itself and that ship with the library."""

import functools
import hashlib
from pathlib import Path

import numpy as np

from aor_lib.storage.assets import Arrays

WEIGHTS = Path(__file__).parent / "weights"
"""Folder of the files, ``NAME.npz``."""


@functools.cache
def load(name: str) -> Arrays:
    """Arrays of shipped weights, by their names; those in half precision as float32."""
    with np.load(WEIGHTS / f"{name}.npz", allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    return {k: a.astype(np.float32) if a.dtype == np.float16 else a for k, a in arrays.items()}


@functools.cache
def revision(name: str) -> str:
    """Short hash of shipped weights: changes exactly when they do."""
    return hashlib.sha256((WEIGHTS / f"{name}.npz").read_bytes()).hexdigest()[:12]
