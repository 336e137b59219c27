"""Simulated studies behind four rules of the statistics: what is claimed, and what is withheld.

Make the table anew, in minutes: python -m benchmarks.intervals

- ``hearing``: coverage of d' of hearing with one rate near 0 or 1.
- ``missing``: how often a model that does not change is called significantly changed where
  refusals at one level have no verdict.
- ``alike``: how often two models that refuse alike would differ significantly if their judge errs
  differently, which is why differences between models have no verdicts.
- ``random direction``: how often a chosen steering that is a random direction itself seems to do
  more than random directions, by a test over utterances and by its rank.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.stats import between_models, hearing, paired
from aor_lib.steering.verdicts import steering_verdicts

STUDIES = 100
TABLE = Path(__file__).parent / "intervals.csv"
"""Made by ``python -m benchmarks.intervals``."""


def hearing_coverage(threatening: float, benign: float, utterances: int, studies: int) -> float:
    """Share of studies whose interval of d' holds the truth; answers correlate by 0.5."""
    truth = norm.ppf(threatening) - norm.ppf(benign)
    rng = np.random.default_rng([utterances, round(1000 * threatening), round(1000 * benign)])
    trials = []
    for study in range(studies):
        answers = _answers([threatening, benign], utterances, rng)
        conditions = np.repeat(["threatening_scene", "benign_scene"], utterances)
        trials.append(answers.assign(condition=conditions, voice="v", model=study))
    table = hearing.hearing_sensitivity(pd.concat(trials), ["model"])
    return float(((table["low"] <= truth) & (truth <= table["high"])).mean())


def false_alarms_with_missing(share: float, utterances: int, studies: int) -> tuple[float, float]:
    """Share of studies that differ as judged, and with withheld verdicts left out; none should.

    ``share`` of the refusals in the scene have no verdict.
    """
    rng = np.random.default_rng([utterances, round(100 * share)])
    trials = []
    for study in range(studies):
        answers = _answers([0.5, 0.5], utterances, rng)
        answers["condition"] = np.repeat(["benign_scene", "speech_only"], utterances)
        lost = answers["label"].eq("full_refusal") & answers["condition"].eq("benign_scene")
        lost &= rng.random(len(answers)) < share
        answers["label"] = answers["label"].mask(lost, "unjudged")
        trials.append(answers.assign(model=study))
    table = paired.paired_differences(pd.concat(trials), "condition", "speech_only", ["model"])
    significant = table["p_holm"] < paired.SIGNIFICANCE
    return float((significant | table["withheld"]).mean()), float(significant.mean())


def intervals_without_zero(utterances: int, studies: int) -> float:
    """Share of studies in which the interval between two models that are alike is without zero.

    Both refuse half; the judge's sensitivity is .887 and .984, its specificity 1 and .923.
    """
    rng = np.random.default_rng(utterances)
    rates = [
        0.5 * sensitivity + 0.5 * (1 - specificity)
        for sensitivity, specificity in ((0.887, 1.0), (0.984, 0.923))
    ]
    apart = 0
    for _ in range(studies):
        answers = _answers(rates, utterances, rng).assign(model=np.repeat(["a", "b"], utterances))
        (row,) = between_models.model_rates(answers).to_dict("records")
        apart += row["low"] > 0 or row["high"] < 0
    return apart / studies


def false_alarms_of_random(utterances: int, studies: int) -> tuple[float, float]:
    """Share of studies in which a chosen direction that is random itself seems to do more.

    First by a test over utterances against nine directions that answer a ninth each, then by its
    rank among nineteen on the same utterances. Directions move the propensity to be refused by a
    standard deviation of 0.7.
    """
    rng = np.random.default_rng(utterances)
    by_test = by_rank = 0
    for _ in range(studies):
        rates = norm.cdf(rng.normal(0, 0.7, 20)).tolist()
        answers = _answers(rates, utterances, rng).assign(model="m")
        number = np.repeat(np.arange(20), utterances)
        answers["role"] = np.where(number == 0, "chosen", "random")
        answers["mitigation"] = number.astype(str)
        answers["stimulus_id"] = answers["utterance_id"]
        part = answers["utterance_id"].astype(int) % 9 + 1
        shared = answers[(number == 0) | (part == number)]
        (test,) = paired.paired_differences(shared, "role", "chosen", ["model"]).to_dict("records")
        by_test += test["p_holm"] < paired.SIGNIFICANCE
        harmful = answers.assign(intent="harmful", role=np.where(number == 0, "chosen", "none"))
        (rank,) = steering_verdicts(pd.concat([answers, harmful[number < 2]])).to_dict("records")
        by_rank += rank["p_value"] <= paired.SIGNIFICANCE
    return by_test / studies, by_rank / studies


def measure(studies: int = STUDIES) -> pd.DataFrame:
    """One row per simulation: ``what``, ``case``, ``utterances``, ``value``, ``studies``."""
    rows: list[tuple[str, str, int, float]] = []
    for utterances in (20, 60):
        for threatening, benign in (
            (0.5, 0.01),
            (0.99, 0.5),
            (0.9, 0.02),
            (0.5, 0.3),
            (0.02, 0.02),
        ):
            covered = hearing_coverage(threatening, benign, utterances, studies)
            rows.append(("hearing coverage", f"{threatening} {benign}", utterances, covered))
        for share in (0.0, 0.1, 0.4):
            before, after = false_alarms_with_missing(share, utterances, studies)
            rows.append(("missing, as judged", f"{share}", utterances, before))
            rows.append(("missing, withheld", f"{share}", utterances, after))
    apart = intervals_without_zero(410, studies)
    rows.append(("alike, interval without zero", "judges differ", 410, apart))
    for what, share in zip(
        ("test against nine", "rank among nineteen"),
        false_alarms_of_random(60, studies),
        strict=True,
    ):
        rows.append((f"random direction, {what}", "chosen is random", 60, share))
    table = pd.DataFrame(rows, columns=["what", "case", "utterances", "value"])
    return table.round(4).assign(studies=studies)


def _answers(rates: list[float], utterances: int, rng: np.random.Generator) -> pd.DataFrame:
    """Answers to the same utterances at each rate, with a tetrachoric correlation of 0.5."""
    own, chance = rng.standard_normal(utterances), rng.standard_normal((len(rates), utterances))
    refused = np.sqrt(0.5) * (own + chance) < norm.ppf(rates)[:, None]
    return pd.DataFrame(
        {
            "utterance_id": np.tile(np.arange(utterances).astype(str), len(rates)),
            "intent": "pseudo_harmful",
            "status": "ok",
            "label": np.where(refused, "full_refusal", "full_compliance").ravel(),
        }
    )


if __name__ == "__main__":
    table = measure()
    table.to_csv(TABLE, index=False)
    print(table.to_string(index=False))
