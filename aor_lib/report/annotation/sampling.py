"""Random draws of what people annotate."""

import hashlib

import numpy as np
import pandas as pd

from aor_lib.report.annotation.store import check_annotator


def systematic_sample(
    frame: pd.DataFrame, by: list[str], n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Sample ``n`` rows at equal steps in the order of ``by``, at random within.

    Every row is equally likely, and each group gets its share to within one (W. G. Cochran,
    "Sampling Techniques", 3rd ed., 1977, chapter 8).
    """
    shuffled = frame.iloc[rng.permutation(len(frame))]
    ordered = shuffled.sort_values(by, kind="stable")
    places = (rng.random() + np.arange(n)) * (len(frame) / n)
    return ordered.iloc[places.astype(int)]


def annotator_rng(seed: int, annotator: str) -> np.random.Generator:
    """A generator of an annotator's own; raises ``AnnotationError`` on an unusable pseudonym."""
    check_annotator(annotator)
    digest = hashlib.sha256(annotator.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
