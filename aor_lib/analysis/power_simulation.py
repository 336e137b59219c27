"""Power and false alarms: the same analysis of many studies resampled from a measured one.

A resampled study draws utterances with replacement, and finds an effect where the 95 % interval of
their mean difference does not hold zero.
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
    """Share of resampled studies that find an effect in a negative control.

    In each study, chance decides for every utterance which of its two answers counts as the
    baseline's: there is no effect to be found.

    Parameters
    ----------
    differences
        As of :func:`aor_lib.analysis.known_effects.utterance_differences`.

    Returns
    -------
    One row per negative control with enough utterances: ``model``, ``comparison``, ``utterances``,
    ``rate`` (of studies that find an effect), ``low``, ``high`` (95 %, of the simulation alone).
    """
    controls = differences[differences["known_effect"] == "nothing"]
    rng = np.random.default_rng(seed)
    rows = []
    for names, measured in controls.groupby(["model", "comparison"], sort=True):
        values = measured["difference"].to_numpy(float)
        if can_tell(len(values)):
            found = sum(
                _side(rng.choice(values, len(values)) * rng.choice([-1, 1], len(values))) != 0
                for _ in range(studies)
            )
            rows.append((*names, len(values), found / studies, *stats.wilson(found, studies)))
    return pd.DataFrame(rows, columns=["model", "comparison", "utterances", "rate", "low", "high"])


def recovery_by_size(
    differences: pd.DataFrame, studies: int = STUDIES, seed: int = 0
) -> pd.DataFrame:
    """Share of resampled studies of several sizes that find a known effect, on its own side.

    Parameters are those of :func:`false_alarms`.

    Returns
    -------
    One row per known effect and size: ``model``, ``comparison``, ``measured`` (utterances that are
    resampled), ``utterances`` (:data:`SIZES`), ``rate``, ``low``, ``high`` as in
    :func:`false_alarms`.
    """
    effects = differences[differences["known_effect"] != "nothing"]
    rng = np.random.default_rng(seed)
    rows = []
    for (model, comparison, effect), measured in effects.groupby(
        ["model", "comparison", "known_effect"], sort=True
    ):
        values = measured["difference"].to_numpy(float)
        side = -1 if effect == "less" else 1
        for size in SIZES:
            found = sum(_side(rng.choice(values, size)) == side for _ in range(studies))
            share = found / studies, *stats.wilson(found, studies)
            rows.append((model, comparison, len(values), size, *share))
    return pd.DataFrame(
        rows, columns=["model", "comparison", "measured", "utterances", "rate", "low", "high"]
    )


def _side(differences: Floats) -> int:
    """Side of zero on which the interval lies; 0 where it holds zero."""
    low, high = stats.difference_interval(differences)
    return (low > 0) - (high < 0)
