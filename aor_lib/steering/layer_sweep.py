"""Layer sweep: refusals under each candidate, estimated for many layers and coefficients.

An estimate takes the first token of an answer, or a short beginning of it
(:mod:`aor_lib.steering.estimates`), so that few candidates need be tried in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from aor_lib.steering.activations import OpenModel
from aor_lib.steering.candidates import Candidate, Requests, candidates, variants
from aor_lib.steering.choice import best
from aor_lib.steering.estimates import Estimate, evenly_spaced
from aor_lib.steering.interventions import steered
from aor_lib.steering.tables import COLUMNS, LAYER_SWEEP, SOURCES
from aor_lib.storage.workers import in_threads

LAYERS = 4
"""Layers looked at, evenly spaced over the part of the model where refusal is decided: before it
a request is not understood yet, and behind it the answer's words are already chosen."""
_FIRST, _LAST = 0.3, 0.75
REQUESTS = 8
"""Requests of each kind that an estimate is made on."""
_ABOUT = 0.2
"""Over-refusal that is about the least: by so much above it. A stronger addition spoils answers,
and so does a random direction of its length."""


@dataclass(frozen=True)
class LayerSweep:
    """Estimates of ``candidates``: ``points`` has a row for each, in their order.

    Its columns are ``method``, ``source``, ``layer``, ``coefficient``, ``lam``, ``components``, and
    the estimates ``orr`` and ``hrr``, which are ``base_orr`` and ``base_hrr`` without steering.
    """

    candidates: list[Candidate]
    points: pd.DataFrame
    base_orr: float
    base_hrr: float

    def table(self) -> pd.DataFrame:
        """The points, and a row without steering: method ``none``, coefficient 0."""
        none = {"method": "none", "coefficient": 0.0, "orr": self.base_orr, "hrr": self.base_hrr}
        return pd.concat([pd.DataFrame([none]), self.points], ignore_index=True)

    def shortlist(self, max_hrr_loss: float) -> list[Candidate]:
        """The best of each method, and the gentlest addition that does about the most.

        The first are to be used as they are. The last refuses hardly anything, and is of use behind
        a gate.
        """
        away = self.points[~self.points["coefficient"].gt(0)]
        additions = away[away["coefficient"].notna()]
        strong = additions[additions["orr"] <= additions["orr"].min() + _ABOUT]
        chosen = {int(str(strong["coefficient"].abs().idxmin()))}
        for _, points in away.groupby("method", sort=False):
            chosen.add(int(best(points, self.base_hrr, max_hrr_loss).index[0]))
        return [self.candidates[place] for place in sorted(chosen)]

    def compared(self, max_hrr_loss: float) -> pd.DataFrame:
        """The best point of each method and source: :data:`aor_lib.steering.tables.COMPARED`.

        Away from refusal, ``goal`` is ``less``; towards it, ``more``, most harmful refusal is best
        at as large a gain of over-refusal. ``cosine`` is that of the direction with the difference
        in means at the clip's last token. A source that the model has not has a row of its own.
        """
        none = {"method": "none", "orr": self.base_orr, "hrr": self.base_hrr, "within": True}
        towards = self.points["coefficient"].gt(0)
        # What is best towards refusal is best away from it with both rates turned round.
        turned = self.points.assign(orr=1 - self.points["hrr"], hrr=1 - self.points["orr"])
        goals = {
            "less": (self.points[~towards], self.base_hrr),
            "more": (turned[towards], 1 - self.base_orr),
        }
        first = [
            best(points, hrr, max_hrr_loss).head(1)[["within"]].assign(goal=goal)
            for goal, (tried, hrr) in goals.items()
            for _, points in tried.groupby(["method", "source"], sort=False)
        ]
        rows = pd.concat(first).join(self.points)
        rows["cosine"] = [self._cosine(self.candidates[place]) for place in rows.index]
        absent = [source for source in SOURCES if source not in set(self.points["source"])]
        lacking = pd.DataFrame({"method": "difference_in_means", "source": absent})
        return pd.concat([pd.DataFrame([none]), rows, lacking], ignore_index=True)

    def _cosine(self, candidate: Candidate) -> float:
        """Cosine with the difference in means of the same layer, at the clip's last token."""
        (heard, *_) = [
            one.vector
            for one in self.candidates
            if (one.method, one.source) == ("difference_in_means", "audio")
            and one.layer == candidate.layer
        ]
        lengths = np.linalg.norm(heard) * np.linalg.norm(candidate.vector)
        return float(heard @ candidate.vector / lengths)


def layer_sweep(
    model: OpenModel,
    requests: Requests,
    among: npt.NDArray[np.intp],
    estimate: Estimate,
    report: Callable[[int, int], None],
) -> LayerSweep:
    """Estimate candidates of several layers, and more coefficients where a method works best.

    ``among`` are the places of the requests that the estimates are for: pseudo-harmful and harmful
    ones, some of each. ``estimate`` is of the very ``model``.
    """
    coarse = [
        one for layer in layers_to_sweep(requests.layers) for one in candidates(requests, layer)
    ]
    points = _estimates(model, coarse, requests, among, estimate, report)
    finer = []
    for _, of_method in points.groupby(["method", "source"], sort=False):
        # Where the direction tells the requests apart best, and where it lowers over-refusal most.
        apart = (of_method["hrr"] - of_method["orr"]).idxmax()
        strongest = of_method["orr"].idxmin()
        for place in sorted({int(str(apart)), int(str(strongest))}):
            finer += variants(coarse[place], requests)
    more = _estimates(model, finer, requests, among, estimate, report)
    asked = [requests.conversations[place] for place in among]
    (unsteered,) = in_threads(estimate, [asked], side_by_side=model.capabilities.side_by_side)
    return LayerSweep(
        coarse + finer,
        pd.concat([points, more], ignore_index=True),
        base_orr=float(unsteered[requests.pseudo_harmful[among]].mean()),
        base_hrr=float(unsteered[requests.harmful[among]].mean()),
    )


def layers_to_sweep(layers: int) -> list[int]:
    """Places of the layers that are looked at, in a model with so many."""
    spaced = np.linspace(np.floor(_FIRST * layers), np.ceil(_LAST * layers) - 1, LAYERS)
    return sorted({int(place) for place in spaced.round()})


def some_of_each_kind(asked: pd.DataFrame, conditions: Sequence[str]) -> npt.NDArray[np.intp]:
    """Places of at most :data:`REQUESTS` pseudo-harmful and as many harmful requests.

    They are evenly spaced, and of as many utterances as can be. ``asked`` has the columns
    ``intent``, ``condition`` and ``utterance_id``; only these ``conditions`` are taken.
    """
    rows = asked.reset_index(drop=True)
    rows = rows[rows["condition"].isin(conditions)]
    places = []
    for kind in ("pseudo_harmful", "harmful"):
        of_kind = rows.loc[rows["intent"] == kind, "utterance_id"]
        # The first request of every utterance, then the second of every one, and so on.
        turns = of_kind.groupby(of_kind).cumcount().to_numpy()
        by_turns = of_kind.index[np.argsort(turns, kind="stable")]
        first = by_turns[: max(REQUESTS, of_kind.nunique())]
        places.append(first[evenly_spaced(len(first), REQUESTS)].to_numpy(np.intp))
    return np.sort(np.concatenate(places))


def _estimates(
    model: OpenModel,
    tried: Sequence[Candidate],
    requests: Requests,
    among: npt.NDArray[np.intp],
    estimate: Estimate,
    report: Callable[[int, int], None],
) -> pd.DataFrame:
    asked = [requests.conversations[place] for place in among]

    def estimated(candidate: Candidate) -> npt.NDArray[np.float64]:
        with steered(model, candidate.intervention):
            return estimate(asked)

    rows = []
    with closing(
        in_threads(estimated, tried, side_by_side=model.capabilities.side_by_side)
    ) as estimates:
        for candidate, refusing in zip(tried, estimates, strict=True):
            orr = float(refusing[requests.pseudo_harmful[among]].mean())
            hrr = float(refusing[requests.harmful[among]].mean())
            rows.append(candidate.row | {"orr": orr, "hrr": hrr})
            report(len(rows), len(tried))
    numbers = dict.fromkeys(("coefficient", "lam", "components"), float)
    return pd.DataFrame(rows, columns=[*COLUMNS[LAYER_SWEEP][1:]]).astype(numbers)
