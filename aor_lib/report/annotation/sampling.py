"""Which of many things people are shown."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd


def systematic_sample(
    frame: pd.DataFrame, by: list[str], n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """``n`` rows, at equal steps in the order of ``by`` and at random within.

    Every row is equally likely, and each group gets its share to within one (W. G. Cochran,
    "Sampling Techniques", 3rd ed., 1977, chapter 8).
    """
    shuffled = frame.iloc[rng.permutation(len(frame))]
    ordered = shuffled.sort_values(by, kind="stable")
    places = (rng.random() + np.arange(n)) * (len(frame) / n)
    return ordered.iloc[places.astype(int)]


def generator_of(seed: int, person: str) -> np.random.Generator:
    """A generator of a person's own, the same for the same ``seed`` and name."""
    digest = hashlib.sha256(person.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
