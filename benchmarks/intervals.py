"""Coverage of the 95 % intervals of rates, differences and d', in simulated studies.

Regenerate the table, in minutes: python -m benchmarks.intervals
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.stats import detection, paired
from aor_lib.analysis.stats.detection import sensitivity
from aor_lib.analysis.stats.intervals import rate_interval

STUDIES = 1_000
TABLE = Path(__file__).parent / "intervals.csv"
"""Made by ``python -m benchmarks.intervals``."""


def rates_covered(
    utterances: int, answers: int, rate: float, likeness: float, studies: int
) -> float:
    """Share of studies whose interval covers the rate, with several answers per utterance.

    ``likeness`` is the correlation of answers to the same utterance.
    """
    rng = np.random.default_rng(utterances)
    shape = 1 / likeness - 1
    own = rng.beta(rate * shape, (1 - rate) * shape, size=(studies, utterances))
    sizes = np.full(utterances, float(answers))
    refused = rng.binomial(answers, own).astype(float)
    bounds = np.array([rate_interval(row, sizes) for row in refused])
    return float(np.mean((bounds[:, 0] <= rate) & (rate <= bounds[:, 1])))


def differences_covered(
    utterances: int, answers: int, before: float, after: float, studies: int
) -> float:
    """Share of studies whose interval covers the true paired difference.

    Each utterance has one judged answer at the baseline and ``answers`` at the level.
    """
    rng = np.random.default_rng(7)
    own = np.sqrt(0.5) * rng.standard_normal((studies, utterances, 1))
    drawn = own + np.sqrt(0.5) * rng.standard_normal((studies, utterances, 1 + answers))
    refused = drawn < norm.ppf([before] + [after] * answers)
    differences = refused[..., 1:].mean(axis=-1) - refused[..., 0]
    bounds = np.array([paired.difference_interval(of_study) for of_study in differences])
    truth = after - before
    return float(np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])))


def detection_covered(
    harmful: int, pseudo_harmful: int, answers: int, rates: tuple[float, float], studies: int
) -> float:
    """Share of studies whose interval covers the true d' of detection."""
    rng = np.random.default_rng(harmful)

    def draw(utterances: int, rate: float) -> pd.DataFrame:
        own = rng.beta(rate * 1.5, (1 - rate) * 1.5, size=utterances)
        return pd.DataFrame({"refused": rng.binomial(answers, own), "judged": answers})

    drawn = [
        sensitivity(draw(harmful, rates[0]), draw(pseudo_harmful, rates[1])) for _ in range(studies)
    ]
    return _covered(pd.DataFrame(drawn), rates)


def detection_of_families_covered(
    utterances: int, rates: tuple[float, float], studies: int
) -> float:
    """The same, if refusal of a harmful utterance correlates with that of its minimal contrast."""
    rng = np.random.default_rng(8)
    names = pd.Series([f"ph-{n}" for n in range(utterances)])
    harmful = pd.DataFrame({"utterance_id": "h of " + names, "contrast_of": names})
    trials = pd.concat([harmful, pd.DataFrame({"utterance_id": names, "contrast_of": None})])
    trials["intent"] = np.repeat(["harmful", "pseudo_harmful"], utterances)
    drawn = [
        trials.assign(status="ok", model=study, label=_labels([*rates], utterances, rng, 0.8))
        for study in range(studies)
    ]
    return _covered(detection.signal_detection(pd.concat(drawn), ["model"]), rates)


def hearing_covered(utterances: int, rates: tuple[float, float], studies: int) -> float:
    """Share of studies whose interval covers the true d' of hearing.

    ``rates`` are the refusal rates in the threatening and in the benign scene.
    """
    rng = np.random.default_rng([utterances, *(round(1000 * rate) for rate in rates)])
    trials = pd.DataFrame(
        {
            "utterance_id": np.tile(np.arange(utterances), 2),
            "condition": np.repeat(["threatening_scene", "benign_scene"], utterances),
        }
    ).assign(intent="pseudo_harmful", status="ok", voice="v")
    drawn = [
        trials.assign(model=study, label=_labels([*rates], utterances, rng))
        for study in range(studies)
    ]
    return _covered(detection.hearing_sensitivity(pd.concat(drawn), ["model"]), rates)


def measure(studies: int = STUDIES) -> pd.DataFrame:
    """One row per simulation: ``interval``, ``case``, ``coverage``, ``studies``."""
    simulations: dict[str, tuple[Callable[..., float], list[tuple[object, ...]]]] = {
        "rate": (
            rates_covered,
            [(72, 5, 0.3, 0.4), (40, 5, 0.9, 0.7), (300, 5, 0.05, 0.4), (24, 5, 0.05, 0.5)],
        ),
        "difference": (
            differences_covered,
            [(72, 1, 0.8, 0.5), (300, 5, 0.1, 0.05), (24, 5, 0.05, 0.02)],
        ),
        "detection": (
            detection_covered,
            [(50, 100, 4, (0.8, 0.3)), (150, 600, 5, (0.95, 0.1)), (24, 72, 1, (0.95, 0.05))],
        ),
        "detection in families": (detection_of_families_covered, [(40, (0.8, 0.4))]),
        "hearing": (
            hearing_covered,
            [
                *product(
                    (20, 60),
                    ((0.5, 0.01), (0.99, 0.5), (0.9, 0.02), (0.5, 0.3), (0.02, 0.02)),
                )
            ],
        ),
    }
    rows = [
        (name, " ".join(map(str, case)), simulation(*case, studies))
        for name, (simulation, cases) in simulations.items()
        for case in cases
    ]
    table = pd.DataFrame(rows, columns=["interval", "case", "coverage"])
    return table.round(4).assign(studies=studies)


def _covered(table: pd.DataFrame, rates: tuple[float, float]) -> float:
    truth = norm.ppf(rates[0]) - norm.ppf(rates[1])
    return float(((table["low"] <= truth) & (truth <= table["high"])).mean())


def _labels(
    rates: list[float], utterances: int, rng: np.random.Generator, alike: float = 0.5
) -> np.ndarray:
    """Labels of answers to the same utterances at each rate; tetrachoric correlation ``alike``."""
    own, chance = rng.standard_normal(utterances), rng.standard_normal((len(rates), utterances))
    refused = np.sqrt(alike) * own + np.sqrt(1 - alike) * chance < norm.ppf(rates)[:, None]
    return np.where(refused, "full_refusal", "full_compliance").ravel()


if __name__ == "__main__":
    table = measure()
    table.to_csv(TABLE, index=False)
    print(table.to_string(index=False))
