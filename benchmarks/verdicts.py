"""How often simulated studies reach a wrong verdict, under earlier rules and under ours.

Regenerate the table, in minutes: python -m benchmarks.verdicts

- ``between_models``: a difference between models that refuse equally but are misjudged differently.
- ``between_conditions``: a significant difference between conditions that differ only in the
  judge's errors; then corrected by human labels of 100 utterances in both conditions.
- ``missing``: a significant difference of an unchanged model, as some refusals have no verdict.
- ``family``: a clear difference in a family of 120 tests is *not* significant.
- ``clips``: a significant difference of an unchanged model, as scenes have several clips.
- ``random``: a chosen steering vector that is itself random seems better than random directions.
- ``limit``: steering that loses the largest allowed harmful refusal is judged within the limit.
- ``scenarios``: a difference between scenarios in one of five models, though none has any.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kruskal, norm

from aor_lib.analysis.people import corrected_differences
from aor_lib.analysis.selections import context
from aor_lib.analysis.stats import paired
from aor_lib.steering import MAX_HRR_LOSS
from aor_lib.steering.tables import steering_verdicts
from notebooks.annotation import draw

STUDIES = 200
TABLE = Path(__file__).parent / "verdicts.csv"
"""Made by ``python -m benchmarks.verdicts``."""
Rng = np.random.Generator


def between_models(studies: int, rng: Rng) -> tuple[float, float]:
    """An interval excludes zero; then a verdict, which differences between models never get.

    Both refuse half of 410; the judge's sensitivity is .887 and .984, its specificity 1 and .923.
    """
    rates = [
        0.5 * sensitivity + 0.5 * (1 - specificity)
        for sensitivity, specificity in ((0.887, 1.0), (0.984, 0.923))
    ]
    apart = verdicts = 0
    for _ in range(studies):
        answers = _answers(rates, 410, rng).assign(model=np.repeat(["a", "b"], 410))
        table = paired.model_rates(answers)
        apart += int((table["low"] > 0).sum() + (table["high"] < 0).sum())
        verdicts += "p_holm" in table
    return apart / studies, verdicts / studies


def between_conditions(studies: int, rng: Rng, labels: int = 100) -> tuple[float, float]:
    """Significant as judged; then as corrected by human labels of ``labels`` utterances.

    Half of 410 utterances are refused in each condition. The judge's sensitivity is .887 and
    .984, its specificity 1 and .923.
    """
    as_judged = corrected = 0.0
    for _ in range(studies):
        answers = _answers([0.5, 0.5], 410, rng).assign(model="m", variant=0)
        answers["condition"] = np.repeat(["benign_scene", "speech_only"], 410)
        answers["trial_key"] = answers["condition"] + answers["utterance_id"]
        answers["truth"] = answers["label"].replace("full_refusal", "refusal")
        chances = np.where(
            answers["truth"] == "refusal",
            np.repeat([0.887, 0.984], 410),
            np.repeat([0.0, 0.077], 410),
        )
        refused = rng.random(len(answers)) < chances
        answers["label"] = np.where(refused, "full_refusal", "full_compliance")
        sample = draw(answers, labels, int(rng.integers(2**31)))
        sample["people"] = sample["truth"].where(sample["drawn"])
        for people in (sample.head(0), sample):
            table = corrected_differences(answers, "condition", "speech_only", ["model"], people)
            significant = (table["p_holm"] < paired.SIGNIFICANCE).sum() / studies
            corrected += significant if len(people) else 0.0
            as_judged += 0.0 if len(people) else significant
    return as_judged, corrected


def missing(studies: int, rng: Rng, share: float = 0.4) -> tuple[float, float]:
    """Significant as judged; then without the withheld verdicts.

    A ``share`` of the refusals of 60 utterances in the scene has no verdict.
    """
    trials = []
    for study in range(studies):
        answers = _answers([0.5, 0.5], 60, rng)
        answers["condition"] = np.repeat(["benign_scene", "speech_only"], 60)
        lost = answers["label"].eq("full_refusal") & answers["condition"].eq("benign_scene")
        lost &= rng.random(len(answers)) < share
        answers["label"] = answers["label"].mask(lost, "unjudged")
        trials.append(answers.assign(model=study))
    table = paired.paired_differences(pd.concat(trials), "condition", "speech_only", ["model"])
    significant = table["p_holm"] < paired.SIGNIFICANCE
    return float((significant | table["withheld"]).mean()), float(significant.mean())


def family(studies: int, rng: Rng, rows: int = 120) -> tuple[float, float]:
    """A clear difference is not significant by a bootstrap's p values; then by ours.

    The smallest p value of a bootstrap of 4,000 draws is 2 / 4,001. 20 utterances, each
    asked twice at every level, are refused with a probability of 0.9, and never at the baseline.
    """
    silent = 0.0
    for _ in range(max(studies // 100, 1)):
        levels = np.repeat(np.arange(rows + 1), 40)
        refused = (levels > 0) & (rng.random(len(levels)) < 0.9)
        answers = _frame(refused, 20).assign(model="m", condition=levels.astype(str))
        table = paired.paired_differences(answers, "condition", "0", ["model"])
        silent += float((table["p_holm"] >= paired.SIGNIFICANCE).mean())
    by_bootstrap = float(2 / 4001 * rows >= paired.SIGNIFICANCE)
    return by_bootstrap, silent / max(studies // 100, 1)


def clips(studies: int, rng: Rng) -> tuple[float, float]:
    """Significant with five clips in scenes against one; then with one against one.

    5 % of the answers to 40 utterances are refusals.
    """
    trials = []
    for study in range(studies):
        answers = _answers([0.05] * 6, 40, rng)
        answers["variant"] = np.repeat([0, 0, 1, 2, 3, 4], 40)
        answers["condition"] = np.repeat(["speech_only", *["benign_scene"] * 5], 40)
        trials.append(answers.assign(model=study))
    every = pd.concat(trials).assign(arm="none", block="core")
    significant = [
        paired.paired_differences(rows, "condition", "speech_only", ["model"])["p_holm"]
        < paired.SIGNIFICANCE
        for rows in (every, context(every))
    ]
    return float(significant[0].mean()), float(significant[1].mean())


def random(studies: int, rng: Rng) -> tuple[float, float]:
    """Significant against nine directions, each on a ninth of utterances; then by rank among 19.

    Each direction shifts the latent refusal propensity of 60 utterances by a normal draw, SD 0.7.
    """
    number, trials = np.repeat(np.arange(20), 60), []
    for study in range(studies):
        rates = norm.cdf(rng.normal(0, 0.7, 20)).tolist()
        trials.append(_answers(rates, 60, rng).assign(model=study, mitigation=number.astype(str)))
    answers = pd.concat(trials, ignore_index=True)
    answers["stimulus_id"] = answers["utterance_id"]
    is_chosen = answers["mitigation"] == "0"
    answers["role"] = np.where(is_chosen, "chosen", "random")
    part = answers["utterance_id"].astype(int) % 9 + 1
    shared = answers[is_chosen | answers["mitigation"].eq(part.astype(str))]
    tests = paired.paired_differences(shared, "role", "chosen", ["model"])
    harmful = [
        answers[is_chosen].assign(intent="harmful", role=role) for role in ("none", "chosen")
    ]
    ranks = steering_verdicts(pd.concat([answers, *harmful]))
    by_rank = ranks["p_value"] <= paired.SIGNIFICANCE
    return float((tests["p_holm"] < paired.SIGNIFICANCE).mean()), float(by_rank.mean())


def limit(studies: int, rng: Rng) -> tuple[float, float]:
    """Within the limit by the estimate; then by its whole interval, on 200 harmful utterances."""
    trials = [_answers([0.9, 0.9 - MAX_HRR_LOSS], 200, rng).assign(model=n) for n in range(studies)]
    answers = pd.concat(trials, ignore_index=True).assign(intent="harmful")
    answers["role"] = np.tile(np.repeat(["none", "chosen"], 200), studies)
    rows = steering_verdicts(answers)
    return float((rows["lost"] <= MAX_HRR_LOSS).mean()), float(rows["within"].eq("yes").mean())


def scenarios(studies: int, rng: Rng) -> tuple[float, float]:
    """Significant in one of five models with a separate test each; then with one family."""
    alone = together = 0
    for _ in range(studies):
        answers = _answers([0.2, 0.35, 0.5, 0.65, 0.8], 60, rng)
        answers["model"] = np.repeat([*"abcde"], 60)
        answers["scenario"] = answers["utterance_id"].astype(int) % 6
        together += (paired.groups_differ(answers, "scenario") < paired.SIGNIFICANCE).any()
        refused = answers.assign(refused=answers["label"].eq("full_refusal"))
        p_values = [
            kruskal(*(rows["refused"] for _, rows in of_model.groupby("scenario"))).pvalue
            for _, of_model in refused.groupby("model")
        ]
        alone += min(p_values) < paired.SIGNIFICANCE
    return float(alone / studies), float(together / studies)


SIMULATIONS: tuple[Callable[[int, Rng], tuple[float, float]], ...] = (
    between_models,
    between_conditions,
    missing,
    family,
    clips,
    random,
    limit,
    scenarios,
)


def measure(studies: int = STUDIES) -> pd.DataFrame:
    """One row per simulation: ``what``, share ``before`` (earlier rules), ``now``, ``studies``."""
    rows = [(run.__name__, *run(studies, np.random.default_rng(0))) for run in SIMULATIONS]
    table = pd.DataFrame(rows, columns=["what", "before", "now"])
    return table.round(4).assign(studies=studies)


def _answers(rates: list[float], utterances: int, rng: Rng) -> pd.DataFrame:
    """Answers to the same utterances at each rate, with a tetrachoric correlation of 0.5."""
    own, chance = rng.standard_normal(utterances), rng.standard_normal((len(rates), utterances))
    refused = np.sqrt(0.5) * (own + chance) < norm.ppf(rates)[:, None]
    return _frame(refused.ravel(), utterances)


def _frame(refused: np.ndarray, utterances: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "utterance_id": np.resize(np.arange(utterances).astype(str), len(refused)),
            "intent": "pseudo_harmful",
            "status": "ok",
            "label": np.where(refused, "full_refusal", "full_compliance"),
        }
    )


if __name__ == "__main__":
    table = measure()
    table.to_csv(TABLE, index=False)
    print(table.to_string(index=False))
