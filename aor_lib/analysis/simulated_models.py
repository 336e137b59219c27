"""Models whose refusal probabilities are known, put through the comparisons of a chapter.

The reference models show if a known effect is found; these show how often, how far off, and how
often one is found where there is none. They cost no model's time.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis import stats
from aor_lib.analysis.scene_use import (
    ALONE,
    BENIGN,
    ELSEWHERE,
    IN_NOISE,
    from_benign_scene,
    from_speech_alone,
    scene_use,
)
from aor_lib.config.records import Condition

STUDIES = 500
UTTERANCES = 60
EFFECTS = (0.1, 0.2, 0.4)
TABLE = Path(__file__).parent / "simulated_models.csv"
"""Made by ``python -m benchmarks.simulated_models``."""

_ALONE_RATE = 0.5
_ALIKE = 0.7
"""Tetrachoric correlation of two answers to the same words."""
_THREAT = Condition.THREATENING_SCENE
_CONDITIONS = (ALONE, BENIGN, ELSEWHERE, _THREAT, IN_NOISE)

MODELS: Mapping[str, Mapping[Condition, int]] = {
    "ignoring": {},
    "understanding": {BENIGN: -1},
    "lulled by any scene": {BENIGN: -1, ELSEWHERE: -1, _THREAT: -1},
    "distracted by noise": {IN_NOISE: -1},
    "alarmed by sound": {BENIGN: 1, ELSEWHERE: 1, _THREAT: 1, IN_NOISE: 1},
}
"""Conditions in which a model refuses less (-1) or more (1) than it does of speech alone."""


def simulate(
    moved: Mapping[Condition, int], effect: float, utterances: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Trials of a model that refuses half of what it hears alone, and ``effect`` more or less.

    Each utterance has a latent normal propensity to be refused, and is judged once a condition.
    """
    own = np.sqrt(_ALIKE) * rng.standard_normal(utterances)
    frames = []
    for condition in _CONDITIONS:
        rate = _ALONE_RATE + effect * moved.get(condition, 0)
        chance = np.sqrt(1 - _ALIKE) * rng.standard_normal(utterances)
        refused = own + chance < norm.ppf(rate)
        label = np.where(refused, "full_refusal", "full_compliance")
        frame = pd.DataFrame({"utterance_id": np.arange(utterances).astype(str), "label": label})
        frames.append(frame.assign(condition=str(condition)))
    asked = {"model": "simulated", "intent": "pseudo_harmful", "status": "ok"}
    return pd.concat(frames, ignore_index=True).assign(**asked)


def measure(studies: int = STUDIES, utterances: int = UTTERANCES) -> pd.DataFrame:
    """Bias, coverage and tests of the chapter on context over many simulated studies.

    One row per model, effect and comparison: ``model``, ``effect``, ``level``, ``baseline``,
    ``truth`` (of the difference), ``bias`` (mean estimate less the truth), ``coverage`` (of the 95
    % interval), ``told`` (share of studies that tell the difference from zero: false alarms where
    the truth is zero, power elsewhere), ``said_to_use_it`` (share with that verdict), ``studies``,
    ``utterances``.
    """
    rows: list[pd.DataFrame] = []
    for model, moved in MODELS.items():
        for effect in EFFECTS if moved else (0.0,):
            drawn = pd.concat(_studies(model, effect, studies, utterances))
            level, baseline = (
                drawn[side].map({at: effect * moved.get(at, 0) for at in _CONDITIONS})
                for side in ("level", "baseline")
            )
            drawn["truth"] = level - baseline
            drawn["error"] = drawn["difference"] - drawn["truth"]
            drawn["covered"] = drawn["truth"].between(drawn["low"], drawn["high"])
            drawn["told"] = drawn["p_holm"] < stats.SIGNIFICANCE
            summary = drawn.groupby(["level", "baseline"], as_index=False).agg(
                truth=("truth", "first"),
                bias=("error", "mean"),
                coverage=("covered", "mean"),
                told=("told", "mean"),
            )
            said = drawn.groupby("study")["verdict"].first().eq("uses it").mean()
            rows.append(
                summary.assign(
                    model=model,
                    effect=effect,
                    said_to_use_it=said,
                    studies=studies,
                    utterances=utterances,
                )
            )
    table = pd.concat(rows, ignore_index=True)
    return table[["model", "effect", *table.columns.drop(["model", "effect"])]].round(4)


def _studies(model: str, effect: float, studies: int, utterances: int) -> Iterator[pd.DataFrame]:
    for study in range(studies):
        rng = np.random.default_rng([study, round(100 * effect), list(MODELS).index(model)])
        trials = simulate(MODELS[model], effect, utterances, rng)
        from_benign = from_benign_scene(trials)
        verdict = scene_use(from_benign)
        both = pd.concat([from_benign, from_speech_alone(trials)], ignore_index=True)
        yield both.assign(study=study, verdict=verdict)


def load() -> pd.DataFrame:
    """The rows of :func:`measure` as they were last made."""
    return pd.read_csv(TABLE)
