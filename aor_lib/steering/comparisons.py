"""Tests of the chosen steering against none and against its random controls."""

from __future__ import annotations

import numpy as np
import pandas as pd

from aor_lib.analysis.stats import paired_differences
from aor_lib.steering.tables import chosen_methods

CONTROLS = ("none", "random", "random_gate")
"""Methods that the chosen one is compared with; the last one only where a gate was chosen."""


def with_controls(tested: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Trials of each model's chosen method and of its :data:`CONTROLS`, on the same stimuli.

    Parameters
    ----------
    tested
        :func:`aor_lib.steering.tables.on_test`.
    points
        :data:`aor_lib.steering.tables.POINTS`.
    """
    return tested[_is_chosen(tested, points) | tested["method"].isin(CONTROLS)]


def chosen_against_controls(tested: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Differences of the chosen method from each of its controls, paired on utterances.

    All of a model's differences, of every intent and from every control, are one family for Holm's
    method. Random directions are compared as a set: each answered a part of the requests, and all
    of them together what the chosen method answered.

    Parameters
    ----------
    tested, points
        As in :func:`with_controls`.

    Returns
    -------
    Rows of :func:`aor_lib.analysis.stats.paired_differences` by ``model`` and ``intent``.
    """
    chosen = _is_chosen(tested, points)
    pairs = [
        tested[chosen | tested["method"].eq(control)].assign(control=control)
        for control in CONTROLS
    ]
    both = pd.concat(pairs, ignore_index=True)
    both["arm"] = np.where(both["method"] == both["control"], "control", "chosen")
    changes = paired_differences(both, "arm", "control", ["model", "intent", "control"])
    methods = changes["model"].map(chosen_methods(points))
    return changes.assign(level=methods, baseline=changes["control"]).drop(columns="control")


def _is_chosen(tested: pd.DataFrame, points: pd.DataFrame) -> pd.Series[bool]:
    return tested["method"] == tested["model"].map(chosen_methods(points))
