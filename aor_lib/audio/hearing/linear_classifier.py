"""Multinomial logistic regression on features, as plain arrays that a file can hold."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aor_lib.storage.cache import Arrays

WEIGHTS = Path(__file__).parent / "weights"
"""Files of the classifiers that ship with the library, ``NAME.npz``."""

Features = npt.NDArray[np.float32]


@functools.cache
def revision(name: str) -> str:
    """Short hash of a shipped classifier: changes exactly when its weights do."""
    return hashlib.sha256((WEIGHTS / f"{name}.npz").read_bytes()).hexdigest()[:12]


def fit(features: Sequence[Features], labels: Sequence[str], c: float) -> Arrays:
    """Fit to features (each ``(n,)``) and their labels; ``c`` is the inverse penalty.

    Returns
    -------
    ``classes`` (str, ``(classes,)``), ``weights`` (float64, ``(classes, n)``; for two classes one
    row, of the second against the first), ``bias``, and the ``mean`` and ``scale`` (float64,
    ``(n,)``) that features are standardised with.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(features)
    model = LogisticRegression(C=c, max_iter=2000)
    model.fit(scaler.transform(features), labels)
    return {
        "classes": np.array(model.classes_, dtype=str),
        "weights": model.coef_,
        "bias": model.intercept_,
        "mean": scaler.mean_,
        "scale": scaler.scale_,
    }


def classify(model: Arrays, features: Features) -> tuple[str, float]:
    """The most probable class of features (``(n,)``), and its probability."""
    weights, bias = np.asarray(model["weights"], float), np.asarray(model["bias"], float)
    scaled = (features - np.asarray(model["mean"], float)) / np.asarray(model["scale"], float)
    scores = weights @ scaled + bias
    if len(scores) == 1:
        scores = np.array([0.0, scores[0]])
    odds = np.exp(scores - scores.max())
    best = int(odds.argmax())
    return str(model["classes"][best]), float(odds[best] / odds.sum())
