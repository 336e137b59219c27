"""Two logistic regressions: is an answer a refusal of any kind, and if so, is it a partial one.

Fitted by :mod:`aor_lib.judge.fit`; here, a model is a weight for each feature, so that judging
needs nothing but a sum.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

WEIGHTS = Path(__file__).parent / "weights" / "speech_acts.npz"
"""The model that comes with the library."""


@dataclass(frozen=True)
class Classifier:
    """Weights of each feature by name, and the intercepts: (any refusal, partial if any)."""

    weights: Mapping[str, tuple[float, float]]
    intercepts: tuple[float, float]

    def probabilities(self, features: Mapping[str, float]) -> tuple[float, float]:
        """Return the probability of any refusal, and that of a partial one if it is any."""
        refusal, partial = self.intercepts
        for name, value in features.items():
            of_refusal, of_partial = self.weights.get(name, (0.0, 0.0))
            refusal += of_refusal * value
            partial += of_partial * value
        return _probability(refusal), _probability(partial)

    def save(self, path: Path) -> None:
        """Write ``names`` (str), ``weights`` (float32, ``(names, 2)``), ``intercepts`` (2,)."""
        path.parent.mkdir(parents=True, exist_ok=True)
        names = sorted(self.weights)
        np.savez_compressed(
            path,
            names=np.array("\n".join(names)),
            weights=np.array([self.weights[name] for name in names], np.float32),
            intercepts=np.array(self.intercepts, np.float32),
        )

    @staticmethod
    @functools.cache
    def load(path: Path = WEIGHTS) -> Classifier:
        """Read what :meth:`save` wrote, once."""
        with np.load(path, allow_pickle=False) as arrays:
            names = str(arrays["names"]).split("\n")
            rows = arrays["weights"].tolist()
            refusal, partial = arrays["intercepts"].tolist()
        weights = {name: (row[0], row[1]) for name, row in zip(names, rows, strict=True)}
        return Classifier(weights, (refusal, partial))


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
