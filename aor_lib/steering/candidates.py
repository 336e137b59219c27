"""Candidates: interventions whose directions are found in recorded requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS
from aor_lib.models.base import Conversation
from aor_lib.steering.activations import Floats, Recorded
from aor_lib.steering.directions import (
    Mask,
    difference_in_means,
    probe_direction,
    project_out,
    random_like,
)
from aor_lib.steering.interventions import Ablation, Addition, Gated, Intervention

SHARES = (0.5, 1.0)
"""Shares of the true-refusal direction that are projected out of the false one for ablation."""


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests that a model was asked, with its recorded activations.

    ``answers`` are judged rows of :func:`aor_lib.analysis.results.load_results`. The masks are
    bool, ``(requests,)``; a request that is neither pseudo-harmful nor harmful is plainly benign.
    """

    answers: pd.DataFrame
    conversations: Sequence[Conversation]
    recorded: Recorded

    @property
    def pseudo_harmful(self) -> Mask:
        """Requests that only sound harmful."""
        return self.answers["intent"].eq("pseudo_harmful").to_numpy(bool)

    @property
    def harmful(self) -> Mask:
        """Requests that are harmful."""
        return self.answers["intent"].eq("harmful").to_numpy(bool)

    @property
    def refused(self) -> Mask:
        """Requests that were refused, in part or in full."""
        return self.answers["label"].isin(REFUSALS).to_numpy(bool)

    @property
    def layers(self) -> int:
        """Number of decoder layers."""
        return int(self.recorded.activations.shape[1])

    def at(self, layer: int) -> Floats:
        """Activations of one layer: float32, ``(requests, width)``."""
        return np.asarray(self.recorded.activations[:, layer])


@dataclass(frozen=True, eq=False)
class Candidate:
    """An intervention that could be chosen.

    ``direction`` says how its direction was found, in the activations of ``layer``, which
    ``method`` applies: by itself, or behind a gate (``conditional``). ``lam`` is the share of the
    true-refusal direction that was projected out.
    """

    method: str
    direction: str
    layer: int
    intervention: Intervention
    lam: float | None = None

    @property
    def coefficient(self) -> float | None:
        """Coefficient of the addition; None for an ablation."""
        match self.intervention:
            case Addition(coefficient=coefficient) | Gated(then=Addition(coefficient=coefficient)):
                return coefficient
            case _:
                return None

    @property
    def vector(self) -> Floats:
        """The direction itself: float32, ``(width,)``."""
        match self.intervention:
            case Gated(then=addition):
                return addition.direction
            case intervention:
                return intervention.direction

    @property
    def name(self) -> str:
        """Name that tells candidates for the same requests apart."""
        strength = f"lam{self.lam:g}" if self.coefficient is None else f"x{self.coefficient:g}"
        return f"{self.method}_l{self.layer}_{strength}".replace("-", "m")

    def randomised(self, seed: int) -> Candidate:
        """The same intervention along a random direction of the same length."""
        direction = random_like(self.vector, seed)
        match self.intervention:
            case Gated(gate, addition):
                other: Intervention = Gated(gate, replace(addition, direction=direction))
            case intervention:
                other = replace(intervention, direction=direction)
        return replace(self, intervention=other)


def candidates(requests: Requests, layer: int) -> list[Candidate]:
    """A candidate for each way of finding a direction at a layer; additions at coefficient -1.

    Raises
    ------
    ValueError
        If no pseudo-harmful request was refused, no harmful one was, or no harmless one answered.
    """
    rows, refused = requests.at(layer), requests.refused
    harmless = ~refused & ~requests.harmful
    false = difference_in_means(rows, refused & requests.pseudo_harmful, harmless)
    true = difference_in_means(rows, refused & requests.harmful, harmless)

    def addition(method: str, direction: Floats, lam: float | None = None) -> Candidate:
        return Candidate(method, method, layer, Addition(layer, direction, -1.0), lam)

    def ablation(lam: float) -> Candidate:
        method = "false_refusal_ablation"
        return Candidate(method, method, layer, Ablation(project_out(false, true, lam)), lam)

    return [
        addition("difference_in_means", difference_in_means(rows, refused, ~refused)),
        addition("probe", probe_direction(rows, refused, ~refused)),
        addition("false_refusal", project_out(false, true), 1.0),
        *map(ablation, SHARES),
    ]
