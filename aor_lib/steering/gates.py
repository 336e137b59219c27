"""Gates: telling what only sounds harmful from what is, by an activation of the prompt.

A gate is weighed by requests that it was not fitted on: each is scored by a gate of other families
of requests, a harmful one and the one that it minimally changes being of one family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from aor_lib.steering.activations import Floats
from aor_lib.steering.candidates import Requests
from aor_lib.steering.directions import Mask, probe
from aor_lib.steering.interventions import Gate

FOLDS = 5

Splits = list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Log-odds of pseudo-harmful rather than harmful, of requests by gates that have not seen them.

    ``scores``: float64, ``(requests,)`` for each layer. ``separation``: how often a pseudo-harmful
    request scores above a harmful one (area under the ROC curve).
    """

    scores: dict[int, npt.NDArray[np.float64]]
    separation: dict[int, float]

    def best_layer(self, up_to: int) -> int:
        """Layer that tells the two kinds apart best, among those up to one."""
        return max(
            (layer for layer in self.scores if layer <= up_to), key=self.separation.__getitem__
        )


def hold_out(requests: Requests, families: Sequence[str], layers: Sequence[int]) -> HeldOut | None:
    """Score requests by gates of each layer, each fitted without a fifth of the ``families``.

    ``families`` names that of each request. Benign requests, which no gate is fitted on, are scored
    by one of all others. None where there are too few families to hold some out.
    """
    asked = np.flatnonzero(requests.pseudo_harmful | requests.harmful)
    of_asked = np.array(families)[asked]
    kinds = requests.pseudo_harmful[asked]
    if min(len(set(of_asked[kinds == kind])) for kind in (True, False)) < FOLDS:
        return None
    splits = folds(kinds, of_asked)
    scores, separation = {}, {}
    for layer in layers:
        gate = fit_gate(requests, layer, threshold=0.0)
        log_odds = np.asarray(requests.at(layer) @ gate.normal + gate.intercept, np.float64)
        log_odds[asked] = held_out_scores(requests.at(layer)[asked], kinds, splits)
        scores[layer] = log_odds
        separation[layer] = float(roc_auc_score(kinds, log_odds[asked]))
    return HeldOut(scores, separation)


def folds(kinds: Mask, families: npt.NDArray[np.str_]) -> Splits:
    """Splits of rows into a part to fit on and one to score, with no family in both."""
    made = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    return list(made.split(kinds, kinds, families))


def held_out_scores(rows: Floats, kinds: Mask, splits: Splits) -> npt.NDArray[np.float64]:
    """Log-odds of each row's being of a kind, by probes that have not seen its family."""
    scores = np.empty(len(rows))
    for kept, held_out in splits:
        normal, intercept = probe(rows[kept], kinds[kept])
        scores[held_out] = rows[held_out] @ normal + intercept
    return scores


def opens(gate: Gate, activations: Floats) -> Mask:
    """Requests that a gate opens for, by activations ``(requests, layers, width)``."""
    odds = activations[:, gate.layer] @ gate.normal + gate.intercept
    return np.asarray(odds > gate.threshold)


def fit_gate(requests: Requests, layer: int, threshold: float) -> Gate:
    """A gate of a layer, fitted on all pseudo-harmful and harmful requests."""
    asked = requests.pseudo_harmful | requests.harmful
    normal, intercept = probe(requests.at(layer)[asked], requests.pseudo_harmful[asked])
    return Gate(layer, normal, intercept, threshold)
