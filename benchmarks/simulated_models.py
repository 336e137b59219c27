"""Bias, coverage and false alarms of the analysis in the chapter on context, in simulated studies.

Regenerate the table, in minutes: python -m benchmarks.simulated_models

The reference models show whether a known effect is recovered; these simulations show the power, the
bias, and the rate of false alarms under the null. They run no model.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.known_effects import ALONE, BENIGN, HEARD, NEUTRAL, NOISE, scene_use
from aor_lib.analysis.stats import paired
from aor_lib.config.records import Condition

STUDIES = 2_000
UTTERANCES = 60
EFFECTS = (0.1, 0.2, 0.4)
TABLE = Path(__file__).parent / "simulated_models.csv"
"""Made by ``python -m benchmarks.simulated_models``."""

_ALONE_RATE = 0.5
_ALIKE = 0.7
"""Tetrachoric correlation of two answers to the same words."""
_THREAT = Condition.THREATENING_SCENE
_CONDITIONS = (ALONE, BENIGN, NEUTRAL, _THREAT, NOISE)

MODELS: Mapping[str, Mapping[Condition, int]] = {
    "ignoring": {},
    "understanding": {BENIGN: -1},
    "lulled by any scene": {BENIGN: -1, NEUTRAL: -1, _THREAT: -1},
    "distracted by noise": {NOISE: -1},
    "alarmed by sound": {BENIGN: 1, NEUTRAL: 1, _THREAT: 1, NOISE: 1},
}
"""Conditions in which each model refuses less (-1) or more (1) than for speech alone."""


def simulate(
    moved: Mapping[Condition, int], effect: float, utterances: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Trials of a model that refuses half of speech alone; ``effect`` shifts ``moved`` conditions.

    Each utterance has a latent normal propensity to be refused, and is judged once per condition.
    """
    rates = [_ALONE_RATE + effect * moved.get(condition, 0) for condition in _CONDITIONS]
    own, chance = rng.standard_normal(utterances), rng.standard_normal((len(rates), utterances))
    propensity = np.sqrt(_ALIKE) * own + np.sqrt(1 - _ALIKE) * chance
    refused = propensity < norm.ppf(rates)[:, None]
    return pd.DataFrame(
        {
            "model": "simulated",
            "intent": "pseudo_harmful",
            "condition": np.repeat([str(condition) for condition in _CONDITIONS], utterances),
            "utterance_id": np.tile(np.arange(utterances).astype(str), len(rates)),
            "status": "ok",
            "label": np.where(refused, "full_refusal", "full_compliance").ravel(),
        }
    )


def measure(models: Iterable[str] = MODELS) -> pd.DataFrame:
    """Bias, coverage and tests of the analysis of context over many simulated studies.

    ``models`` are keys of :data:`MODELS`. One row per model, effect and comparison: ``model``,
    ``effect``, ``level``, ``baseline``, ``truth`` (true difference), ``bias`` (mean estimate minus
    the truth), ``coverage`` (of the 95 % interval), ``significant`` (share of studies with a
    significant difference: false alarms if the truth is zero, power otherwise),
    ``uses_the_scene`` (share with that verdict), ``studies``, ``utterances``.
    """
    rows: list[pd.DataFrame] = []
    for model in models:
        moved = MODELS[model]
        for effect in EFFECTS if moved else (0.0,):
            drawn = _studies(model, effect)
            level, baseline = (
                drawn[side].map({at: effect * moved.get(at, 0) for at in _CONDITIONS})
                for side in ("level", "baseline")
            )
            drawn["truth"] = level - baseline
            drawn["error"] = drawn["difference"] - drawn["truth"]
            drawn["covered"] = drawn["truth"].between(drawn["low"], drawn["high"])
            drawn["significant"] = drawn["p_holm"] < paired.SIGNIFICANCE
            drawn["used"] = drawn["verdict"] == "uses the scene"
            drawn["model"], drawn["effect"] = model, effect
            groups = drawn.groupby(["model", "effect", "level", "baseline"], as_index=False)
            rows.append(
                groups.agg(
                    truth=("truth", "first"),
                    bias=("error", "mean"),
                    coverage=("covered", "mean"),
                    significant=("significant", "mean"),
                    uses_the_scene=("used", "mean"),
                )
            )
    table = pd.concat(rows, ignore_index=True).round(4)
    return table.assign(studies=STUDIES, utterances=UTTERANCES)


def _studies(model: str, effect: float) -> pd.DataFrame:
    """Comparisons of all studies, each as a separate ``model``, since families are by model."""
    trials = []
    for study in range(STUDIES):
        rng = np.random.default_rng([study, round(100 * effect), list(MODELS).index(model)])
        trials.append(simulate(MODELS[model], effect, UTTERANCES, rng).assign(model=study))
    every = pd.concat(trials, ignore_index=True)
    heard = every[every["condition"].isin(HEARD)]
    alone = every[every["condition"] != BENIGN]
    from_benign = paired.paired_differences(heard, "condition", BENIGN, ["model"])
    from_alone = paired.paired_differences(alone, "condition", ALONE, ["model"])
    both = pd.concat([from_benign, from_alone], ignore_index=True)
    verdicts = {study: scene_use(rows) for study, rows in from_benign.groupby("model")}
    return both.assign(verdict=both["model"].map(verdicts))


if __name__ == "__main__":
    measure().to_csv(TABLE, index=False)
