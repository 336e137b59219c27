"""The choice of an operating point: least over-refusal at a stated loss of harmful refusal.

All rates here are of the ``dev`` split.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from aor_lib.steering.directions import Mask

_ABOUT = 0.05
"""Over-refusal that is about the least: by so much above it."""


def best(points: pd.DataFrame, hrr: float, max_hrr_loss: float) -> pd.DataFrame:
    """The rows in the order in which they would be chosen, the best first.

    Parameters
    ----------
    points
        With the columns ``orr`` and ``hrr``: fractions.
    hrr
        Harmful-refusal rate without steering.
    max_hrr_loss
        How much of it may be lost, as a fraction of all harmful requests.

    Returns
    -------
    The rows with a column ``within``: whether the loss is within the limit. Those come first, by
    their over-refusal; then the others, by how much more harmful than pseudo-harmful requests are
    refused. Ties keep their order.
    """
    within = points["hrr"] >= hrr - max_hrr_loss - 1e-9
    # Beyond the limit always comes after within it.
    order = np.where(within, points["orr"], 10 - (points["hrr"] - points["orr"]))
    return points.assign(within=within).iloc[np.argsort(order, kind="stable")]


def layers_to_refine(points: pd.DataFrame) -> list[int]:
    """The layer where a direction tells the requests apart best, and where it does most.

    ``points`` has the columns ``layer``, ``orr`` and ``hrr`` for one direction and coefficient.
    """
    by_layer = points.set_index("layer")
    apart, strongest = (by_layer["hrr"] - by_layer["orr"]).idxmax(), by_layer["orr"].idxmin()
    return sorted({int(str(apart)), int(str(strongest))})


def gentlest(points: pd.DataFrame) -> int:
    """The index of the smallest coefficient whose over-refusal is about the least of all.

    ``points`` has the columns ``orr`` and ``coefficient``.
    """
    strong = points[points["orr"] <= points["orr"].min() + _ABOUT]
    return int(str(strong["coefficient"].abs().idxmin()))


def gate_threshold(
    scores: npt.NDArray[np.float64],
    pseudo_harmful: Mask,
    refused: Mask,
    refused_steered: Mask,
    max_hrr_loss: float,
) -> float:
    """The threshold of a gate with the least over-refusal at a stated loss of harmful refusal.

    Under a gate a request is answered as if steered where it is open, and as if not elsewhere; so
    every threshold can be weighed without another answer.

    Parameters
    ----------
    scores
        float64, ``(requests,)``: log-odds of pseudo-harmful rather than harmful, of requests of
        these two kinds, by gates that were not fitted on them.
    pseudo_harmful, refused, refused_steered
        bool, ``(requests,)``: the kind, and whether the answer without and with steering is a
        refusal.
    """
    levels = np.unique(scores)
    # Between two scores, where a score that is computed a little differently is on the same side.
    between = (levels[1:] + levels[:-1]) / 2
    thresholds = np.concatenate([[levels[0] - 1], between, [levels[-1] + 1]])
    points = []
    for threshold in thresholds:
        answered = np.where(scores > threshold, refused_steered, refused)
        points.append((answered[pseudo_harmful].mean(), answered[~pseudo_harmful].mean()))
    frame = pd.DataFrame(points, columns=["orr", "hrr"])
    return float(thresholds[best(frame, float(frame["hrr"].iloc[-1]), max_hrr_loss).index[0]])
