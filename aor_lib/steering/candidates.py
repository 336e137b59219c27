"""What could be done to a model: interventions whose directions are found in recorded requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from aor_lib.analysis.stats import REFUSALS
from aor_lib.models.base import Conversation
from aor_lib.steering.activations import Floats, Recorded
from aor_lib.steering.directions import Mask, along_probe, difference_in_means, without
from aor_lib.steering.interventions import Ablation, Addition

SHARES = (0.5, 1.0)
"""Of the true-refusal direction that is taken out of the false-refusal direction for ablation."""


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests that a model was asked, what its layers made of them, and what became of them.

    ``stimuli`` are their ids. The masks are bool, ``(requests,)``; a request that is neither
    ``pseudo_harmful`` nor ``harmful`` is plainly benign. ``refused``: in part or in full.
    """

    stimuli: Sequence[str]
    conversations: Sequence[Conversation]
    recorded: Recorded
    pseudo_harmful: Mask
    harmful: Mask
    refused: Mask

    @staticmethod
    def of(
        answers: pd.DataFrame, conversations: Sequence[Conversation], recorded: Recorded
    ) -> Requests:
        """From judged rows of :func:`aor_lib.analysis.results.load_results`, and what was
        recorded."""
        return Requests(
            answers["stimulus_id"].tolist(),
            conversations,
            recorded,
            pseudo_harmful=answers["intent"].eq("pseudo_harmful").to_numpy(bool),
            harmful=answers["intent"].eq("harmful").to_numpy(bool),
            refused=answers["label"].isin(REFUSALS).to_numpy(bool),
        )

    @property
    def layers(self) -> int:
        """How many decoder layers the model has."""
        return int(self.recorded.rows.shape[1])

    def at(self, layer: int) -> Floats:
        """Activations of one layer: float32, ``(requests, width)``."""
        return np.asarray(self.recorded.rows[:, layer])


@dataclass(frozen=True, eq=False)
class Candidate:
    """An intervention that could be chosen.

    ``method`` is how its direction was found, in the activations of ``layer``; ``lam`` the share of
    the true-refusal direction that was taken out of it.
    """

    method: str
    layer: int
    intervention: Addition | Ablation
    lam: float | None = None

    @property
    def coefficient(self) -> float | None:
        """Of the addition; None for an ablation."""
        found = self.intervention
        return found.coefficient if isinstance(found, Addition) else None

    @property
    def name(self) -> str:
        """What distinguishes it from others for the same requests."""
        strength = f"lam{self.lam:g}" if self.coefficient is None else f"x{self.coefficient:g}"
        return f"{self.method}_l{self.layer}_{strength}".replace("-", "m")

    def at(self, coefficient: float) -> Candidate:
        """The same addition, stronger or weaker."""
        assert isinstance(self.intervention, Addition)
        return replace(self, intervention=replace(self.intervention, coefficient=coefficient))


def candidates(requests: Requests, layer: int) -> list[Candidate]:
    """A candidate for each way of finding a direction at a layer; additions at coefficient -1.

    Raises
    ------
    ValueError
        No pseudo-harmful request was refused, no harmful one was, or no harmless one answered.
    """
    rows = requests.at(layer)
    answered = ~requests.refused
    harmless = answered & ~requests.harmful
    false = difference_in_means(rows, requests.refused & requests.pseudo_harmful, harmless)
    true = difference_in_means(rows, requests.refused & requests.harmful, harmless)
    orthogonal = without(false, true)
    plain = difference_in_means(rows, requests.refused, answered)
    along = along_probe(rows, requests.refused, answered)
    return [
        Candidate("difference_in_means", layer, Addition(layer, plain, -1.0)),
        Candidate("probe", layer, Addition(layer, along, -1.0)),
        Candidate("false_refusal", layer, Addition(layer, orthogonal, -1.0), 1.0),
        *(
            Candidate("false_refusal_ablation", layer, Ablation(without(false, true, lam)), lam)
            for lam in SHARES
        ),
    ]
