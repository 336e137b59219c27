"""Choice on ``dev``: the least over-refusal at a stated loss of harmful refusal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.steering.candidates import Candidate, Requests
from aor_lib.steering.directions import Mask
from aor_lib.steering.gates import HeldOut, fit_gate
from aor_lib.steering.interventions import Addition, Gated

MAX_DEGENERATE = 0.05
"""Answers that may become gibberish or loops, above those that are so without steering."""

Rates = dict[str, float]
"""Rates of one arm, by the names that :func:`arm_rates` gives them."""


def arm_rates(answers: pd.DataFrame) -> Rates:
    """Rates over rows of :func:`aor_lib.analysis.results.load_results` of one arm.

    Returns
    -------
    Refusal rates by intent (NaN where none was judged): ``orr``, ``hrr`` and ``plain``; and the
    share of ``degenerate`` answers (gibberish or loops).
    """
    judged = answers[is_judged(answers)]
    rates = judged["label"].isin(REFUSALS).groupby(judged["intent"]).mean()
    flags = answers.loc[answers["status"] == "ok", "flags"].dropna().map(json.loads)
    return {
        "orr": float(rates.get("pseudo_harmful", np.nan)),
        "hrr": float(rates.get("harmful", np.nan)),
        "plain": float(rates.get("benign", np.nan)),
        "degenerate": float(flags.map(lambda noted: "degenerate" in noted).mean()),
    }


def best(points: pd.DataFrame, hrr: float, max_hrr_loss: float) -> pd.DataFrame:
    """Sort operating points in the order in which they would be chosen, the best first.

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
    refused. Among equals more harmful refusal is better; then they keep their order.
    """
    within = points["hrr"] >= hrr - max_hrr_loss - 1e-9
    # Beyond the limit always comes after within it.
    order = np.where(within, points["orr"], 10 - (points["hrr"] - points["orr"]))
    places: npt.NDArray[np.intp] = np.lexsort((-points["hrr"], order))
    return points.assign(within=within).iloc[places]


def behind_a_gate(
    candidate: Candidate,
    addition: Addition,
    steered: pd.DataFrame,
    unsteered: pd.DataFrame,
    requests: Requests,
    held_out: HeldOut,
    max_hrr_loss: float,
) -> tuple[Candidate, Rates]:
    """A candidate's addition behind the best layer's gate, at the threshold that suits it best.

    Its rates need no further answers: where the gate is open a request is answered as if steered,
    and elsewhere as if not.

    Parameters
    ----------
    steered, unsteered
        Rows of :func:`aor_lib.analysis.results.load_results` with and without the addition.
    """
    layer = held_out.best_layer(candidate.layer)
    scores = pd.Series(held_out.scores[layer], index=requests.answers["stimulus_id"])
    before, after = (
        rows[is_judged(rows)].set_index("stimulus_id") for rows in (unsteered, steered)
    )
    both = before.index[before["intent"].isin(["pseudo_harmful", "harmful"])]
    both = both.intersection(after.index)
    threshold = gate_threshold(
        np.asarray(scores[both], dtype=np.float64),
        before.loc[both, "intent"].eq("pseudo_harmful").to_numpy(bool),
        before.loc[both, "label"].isin(REFUSALS).to_numpy(bool),
        after.loc[both, "label"].isin(REFUSALS).to_numpy(bool),
        max_hrr_loss,
    )
    opened = scores.index[scores > threshold]
    answers = pd.concat(
        [
            steered[steered["stimulus_id"].isin(opened)],
            unsteered[~unsteered["stimulus_id"].isin(opened)],
        ]
    )
    gated = Gated(fit_gate(requests, layer, threshold), addition)
    return replace(candidate, method="conditional", intervention=gated), arm_rates(answers)


def gate_threshold(
    scores: npt.NDArray[np.float64],
    pseudo_harmful: Mask,
    refused: Mask,
    refused_steered: Mask,
    max_hrr_loss: float,
) -> float:
    """Threshold of a gate with the least over-refusal at a stated loss of harmful refusal.

    Among equals the highest is taken: it opens for the fewest requests.

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
    thresholds = np.concatenate([[levels[0] - 1], between, [levels[-1] + 1]])[::-1]
    points = []
    for threshold in thresholds:
        answered = np.where(scores > threshold, refused_steered, refused)
        points.append((answered[pseudo_harmful].mean(), answered[~pseudo_harmful].mean()))
    frame = pd.DataFrame(points, columns=["orr", "hrr"])
    return float(thresholds[best(frame, float(frame["hrr"].iloc[0]), max_hrr_loss).index[0]])


def choose(
    points: Sequence[tuple[Candidate, Rates]], unsteered: Rates, max_hrr_loss: float
) -> tuple[pd.DataFrame, list[int]]:
    """All points as a table, and the place of the best of each method, the best of all first.

    A point whose answers are often degenerate comes after all others.
    """
    frame = pd.DataFrame([candidate.row | rates for candidate, rates in points])
    sound = frame["degenerate"] <= unsteered["degenerate"] + MAX_DEGENERATE
    ordered = pd.concat(
        [best(frame[some], unsteered["hrr"], max_hrr_loss) for some in (sound, ~sound)]
    )
    first = ordered.groupby("method", sort=False).head(1)
    return frame.assign(within=ordered["within"] & sound), [int(place) for place in first.index]
