"""How often a study would find an effect: the same analysis of many resampled studies.

A resampled study takes utterances at random, with replacement, from those measured, and finds an
effect where the 95 % interval of their mean difference does not hold zero.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from aor_lib.analysis import stats
from aor_lib.analysis.known_effects import can_tell
from aor_lib.analysis.stats.intervals import Floats

STUDIES = 1_000
"""Of each kind: a share of 5 % comes out to within 1.4 points, one of 80 % to within 2.5."""
SIZES = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def false_alarms(differences: pd.DataFrame, studies: int = STUDIES, seed: int = 0) -> pd.DataFrame:
    """How often resampled studies of the negative controls find something.

    In each, chance decides for every utterance which of its two answers counts as the baseline's:
    there is no effect to be found.

    Parameters
    ----------
    differences
        As of :func:`aor_lib.analysis.known_effects.utterance_differences`.

    Returns
    -------
    One row a negative control with enough utterances: ``model``, ``comparison``, ``utterances``,
    ``rate`` (of studies that find an effect), ``low``, ``high`` (95 %, of the simulation alone).
    """
    controls = differences[differences["planted"] == "nothing"]
    rng = np.random.default_rng(seed)
    rows = []
    for (model, comparison), measured in controls.groupby(["model", "comparison"], sort=True):
        values = measured["difference"].to_numpy(float)
        if can_tell(len(values)):
            found = sum(
                _side(rng.choice(values, len(values)) * rng.choice([-1, 1], len(values))) != 0
                for _ in range(studies)
            )
            rows.append((model, comparison, len(values), *_share(found, studies)))
    return pd.DataFrame(rows, columns=["model", "comparison", "utterances", "rate", "low", "high"])


def recovery_by_size(
    differences: pd.DataFrame, studies: int = STUDIES, seed: int = 0
) -> pd.DataFrame:
    """How often studies of several sizes find what was planted, on the side where it was planted.

    Parameters are those of :func:`false_alarms`.

    Returns
    -------
    One row a planted effect and size: ``model``, ``comparison``, ``measured`` (utterances that are
    resampled), ``utterances`` (:data:`SIZES`), ``rate``, ``low``, ``high`` as in
    :func:`false_alarms`.
    """
    effects = differences[differences["planted"] != "nothing"]
    rng = np.random.default_rng(seed)
    rows = []
    for (model, comparison, planted), measured in effects.groupby(
        ["model", "comparison", "planted"], sort=True
    ):
        values = measured["difference"].to_numpy(float)
        side = -1 if planted == "less" else 1
        for size in SIZES:
            found = sum(_side(rng.choice(values, size)) == side for _ in range(studies))
            rows.append((model, comparison, len(values), size, *_share(found, studies)))
    return pd.DataFrame(
        rows, columns=["model", "comparison", "measured", "utterances", "rate", "low", "high"]
    )


def _side(differences: Floats) -> int:
    """Of zero on which the interval lies; 0 where it holds zero."""
    low, high = stats.difference_interval(differences)
    return (low > 0) - (high < 0)


def _share(found: int, studies: int) -> tuple[float, float, float]:
    return found / studies, *stats.wilson(found, studies)
