"""Coverage of refusal rates as judged, and as corrected by human labels, in simulated studies.

Regenerate the table, in minutes: python -m benchmarks.people
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.people import corrected_rate
from aor_lib.analysis.stats.intervals import rate_interval
from notebooks.annotation import draw_strata

STUDIES = 500
DESIGNS = ((100, 1), (400, 1), (100, 3))
"""Number of utterances, and of a model's answers to each."""
LABELS = (40, 100)
RATES = (0.05, 0.15, 0.45, 0.8)
ALIKE = 0.7
"""Tetrachoric correlation of answers to the same utterance, and of the judge's errors on them."""
JUDGES = {"good": (0.984, 1.0), "fair": (0.887, 0.923), "poor": (0.6, 0.97)}
"""Sensitivity and specificity of each simulated judge."""
Marks = npt.NDArray[np.bool_]
TABLE = Path(__file__).parent / "people.csv"
"""Made by ``python -m benchmarks.people``."""


def simulate(
    rate: float, judge: tuple[float, float], design: tuple[int, int], rng: np.random.Generator
) -> tuple[Marks, Marks]:
    """Masks of a model's answers, one row per utterance: true refusals, and judged refusals."""
    sensitivity, specificity = judge
    refused = _alike(design, rng) < rate
    return refused, _alike(design, rng) < np.where(refused, sensitivity, 1 - specificity)


def _alike(design: tuple[int, int], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Uniform random numbers of shape ``design``, correlated within each row."""
    own, chance = rng.standard_normal((design[0], 1)), rng.standard_normal(design)
    return np.asarray(norm.cdf(np.sqrt(ALIKE) * own + np.sqrt(1 - ALIKE) * chance))


def measure(studies: int = STUDIES) -> pd.DataFrame:
    """Bias and coverage over simulated studies, one row per judge, rate, design and label count.

    ``coverage`` (of the 95 % interval), ``bias`` and ``half_width`` describe the corrected rate;
    ``coverage_as_judged`` and ``bias_as_judged`` describe the rate as judged.
    """
    return pd.DataFrame(_rows(studies))


def _rows(studies: int) -> Iterator[dict[str, object]]:
    for name, rate, design, labels in product(JUDGES, RATES, DESIGNS, LABELS):
        rng = np.random.default_rng(0)
        drawn = [_study(rate, name, design, labels, rng) for _ in range(studies)]
        columns = ["rate", "low", "high", "as_judged", "judged_low", "judged_high"]
        frame = pd.DataFrame(drawn, columns=columns)
        covered = (frame["low"] <= rate) & (rate <= frame["high"])
        judged = (frame["judged_low"] <= rate) & (rate <= frame["judged_high"])
        yield {
            "judge": name,
            "rate": rate,
            "utterances": design[0],
            "answers": design[0] * design[1],
            "labels": labels,
            "studies": studies,
            "coverage": covered.mean(),
            "bias": frame["rate"].mean() - rate,
            "half_width": (frame["high"] - frame["low"]).mean() / 2,
            "coverage_as_judged": judged.mean(),
            "bias_as_judged": frame["as_judged"].mean() - rate,
        }


def _study(
    rate: float, judge: str, design: tuple[int, int], labels: int, rng: np.random.Generator
) -> tuple[float, ...]:
    refused, judged = simulate(rate, JUDGES[judge], design, rng)
    lots = np.random.default_rng(rng.integers(2**31)).permutation(refused.size)
    probability, drawn = draw_strata(pd.Series(judged.ravel()), lots, labels)
    answers = pd.DataFrame(
        {
            "judged": judged.ravel(),
            "answered": np.where(drawn, 1.0, np.nan),
            "refused": np.where(drawn, refused.ravel(), np.nan),
            "probability": probability,
        },
        index=np.arange(design[0]).repeat(design[1]),
    )
    corrected = corrected_rate(answers)
    sizes = np.full(design[0], float(design[1]))
    return *corrected, judged.mean(), *rate_interval(judged.sum(axis=1).astype(float), sizes)


if __name__ == "__main__":
    table = measure().round(4)
    table.to_csv(TABLE, index=False)
    print(table.to_string())
