"""Candidates: interventions whose directions are found in recorded requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS
from aor_lib.models.base import Conversation
from aor_lib.steering.activations import Floats, Recorded
from aor_lib.steering.directions import (
    Mask,
    as_long_as,
    difference_in_means,
    probe_direction,
    project_out,
    random_like,
    safe_ablated,
)
from aor_lib.steering.interventions import Ablation, Addition, Gated, Intervention
from aor_lib.steering.sources import Sources
from aor_lib.steering.tables import COMPONENTS

COEFFICIENTS = (-0.5, -1.0, -1.5)
TOWARDS_REFUSAL = 1.0
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
    elsewhere: Sources

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

    def at(self, layer: int, source: str = "audio") -> Floats:
        """Activations of one layer in a source: float32, ``(requests, width)``."""
        if source == "audio":
            return np.asarray(self.recorded.activations[:, layer])
        return self.elsewhere.others[source](layer)


@dataclass(frozen=True, eq=False)
class Candidate:
    """An intervention that could be chosen.

    ``direction`` says how its direction was found, in the activations of ``layer`` in a ``source``
    (:mod:`aor_lib.steering.sources`), which ``method`` applies: by itself, or behind a gate
    (``conditional``). ``lam`` is the share of the true-refusal direction that was projected out,
    ``components`` the number of components of safe activations (SARSteer).
    """

    method: str
    direction: str
    source: str
    layer: int
    intervention: Intervention
    lam: float | None = None
    components: int | None = None

    @property
    def applied(self) -> Addition | Ablation:
        """The addition or ablation itself, without a gate that it may stand behind."""
        return self.intervention.then if isinstance(self.intervention, Gated) else self.intervention

    @property
    def coefficient(self) -> float | None:
        """Coefficient of the addition; None for an ablation."""
        return self.applied.coefficient if isinstance(self.applied, Addition) else None

    @property
    def vector(self) -> Floats:
        """The direction itself: float32, ``(width,)``."""
        return self.applied.direction

    @property
    def row(self) -> dict[str, object]:
        """Columns that describe the candidate in tables."""
        gate = self.intervention.gate if isinstance(self.intervention, Gated) else None
        return {
            "method": self.method,
            "direction": self.direction,
            "source": self.source,
            "layer": self.layer,
            "coefficient": self.coefficient,
            "lam": self.lam,
            "components": self.components,
            "gate_layer": gate.layer if gate else None,
            "threshold": gate.threshold if gate else None,
        }

    @property
    def name(self) -> str:
        """Name that tells candidates for the same requests apart."""
        strength = f"lam{self.lam:g}" if self.coefficient is None else f"x{self.coefficient:g}"
        found = self.source if self.components is None else f"{self.source}_k{self.components}"
        return f"{self.method}_{found}_l{self.layer}_{strength}".replace("-", "m")

    def changed(self, **changes: Any) -> Candidate:
        """Copy with another ``direction``, or another ``coefficient`` of an addition."""
        other: Any = replace(self.applied, **changes)
        if isinstance(self.intervention, Gated):
            other = replace(self.intervention, then=other)
        return replace(self, intervention=other)

    def randomised(self, seed: int) -> Candidate:
        """The same intervention along a random direction of the same length."""
        return self.changed(direction=random_like(self.vector, seed))


def candidates(requests: Requests, layer: int) -> list[Candidate]:
    """A candidate for each way of finding a direction at a layer; additions at coefficient -1.

    Raises
    ------
    ValueError
        If no pseudo-harmful request was refused, no harmful one was, or no harmless one answered.
    """
    rows, refused = requests.at(layer), requests.refused
    false, true = _false_and_true(requests, layer)
    sarsteer = _sarsteer(requests, layer, COMPONENTS[-1])
    return [
        *(_means(requests, layer, source) for source in ("audio", *requests.elsewhere.others)),
        _addition("probe", layer, probe_direction(rows, refused, ~refused)),
        replace(_addition("false_refusal", layer, project_out(false, true)), lam=1.0),
        _ablation(requests, layer, SHARES[-1]),
        *([] if sarsteer is None else [sarsteer]),
    ]


def variants(candidate: Candidate, requests: Requests) -> list[Candidate]:
    """The same method at the same layer, otherwise: coefficients, or shares for an ablation.

    SARSteer has other numbers of components too, and, as it was meant, an addition towards refusal.
    """
    layer = candidate.layer
    if candidate.coefficient is None:
        return [_ablation(requests, layer, share) for share in SHARES if share != candidate.lam]
    coefficients = [one for one in COEFFICIENTS if one != candidate.coefficient]
    others: list[Candidate | None] = []
    if candidate.method == "sarsteer":
        coefficients.append(TOWARDS_REFUSAL)
        others = [_sarsteer(requests, layer, number) for number in COMPONENTS[:-1]]
    stronger = [candidate.changed(coefficient=one) for one in coefficients]
    return [*stronger, *(one for one in others if one is not None)]


def _means(requests: Requests, layer: int, source: str) -> Candidate:
    """Difference in means in a source, at the length that it has at the clip's last token."""
    refused = requests.refused
    heard, found = (
        difference_in_means(requests.at(layer, one), refused, ~refused) for one in ("audio", source)
    )
    return _addition("difference_in_means", layer, as_long_as(found, heard), source)


def _sarsteer(requests: Requests, layer: int, components: int) -> Candidate | None:
    """Safe-ablated refusal steering; None if nothing is left of how words of refusal move a model.

    The direction is how words of refusal beside a harmful clip move the last token, less its part
    in the top principal components of harmless clips that were answered. It is here added after
    one layer, at the length of the difference in means, as the other methods are; its makers add it
    after every layer, to the last token, and only towards refusal.

    References
    ----------
    W. Lin, J. Li, H. Xiong & L. Liu, "SARSteer: safeguarding large audio language models via
    safe-ablated refusal steering", ICML 2026, arXiv 2510.17633.
    """
    shift, rows, refused = requests.elsewhere.refusing[layer], requests.at(layer), requests.refused
    left = safe_ablated(shift, rows[~refused & ~requests.harmful], components)
    if np.linalg.norm(left) <= 1e-3 * np.linalg.norm(shift):
        return None
    direction = as_long_as(left, difference_in_means(rows, refused, ~refused))
    return replace(_addition("sarsteer", layer, direction, "text"), components=components)


def _ablation(requests: Requests, layer: int, lam: float) -> Candidate:
    method, (false, true) = "false_refusal_ablation", _false_and_true(requests, layer)
    return Candidate(method, method, "audio", layer, Ablation(project_out(false, true, lam)), lam)


def _false_and_true(requests: Requests, layer: int) -> tuple[Floats, Floats]:
    """Directions of the refusals of pseudo-harmful and of harmful requests."""
    rows, refused = requests.at(layer), requests.refused
    harmless = ~refused & ~requests.harmful
    kinds = (requests.pseudo_harmful, requests.harmful)
    false, true = (difference_in_means(rows, refused & kind, harmless) for kind in kinds)
    return false, true


def _addition(method: str, layer: int, direction: Floats, source: str = "audio") -> Candidate:
    return Candidate(method, method, source, layer, Addition(layer, direction, -1.0))
