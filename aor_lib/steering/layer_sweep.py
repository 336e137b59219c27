"""Layer sweep: refusal rates under each candidate, estimated at several layers and coefficients.

An estimate is the judge's mean score of the first tokens of answers to a few requests, so that only
a few candidates need full answers.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import roc_auc_score

from aor_lib.config.records import Condition, Generation
from aor_lib.judge.judgement import Judge
from aor_lib.models.base import AudioModel, Conversation, Failure
from aor_lib.steering import SteeringError
from aor_lib.steering.choice import Rates, best
from aor_lib.steering.directions import Requests, candidates, variants
from aor_lib.steering.residual_stream import Intervention, OpenModel, each, steered
from aor_lib.steering.tables import COLUMNS, LAYER_SWEEP
from aor_lib.steering.trials import SteeredTrials
from aor_lib.storage.progress import Report

# Layers are evenly spaced where the model decides to refuse: earlier layers do not yet represent
# the request's meaning; by later layers, the answer's words are already chosen.
LAYERS, _FIRST, _LAST = 4, 0.3, 0.75
REQUESTS = 8  # of each kind, for an estimate
BEGINNINGS = (12, 24, 48, 96)
"""Numbers of first tokens, tried in order until they separate refusals from other answers."""
TELLS, _SHOWN = 0.9, 12  # area under the ROC curve, over at most 12 refusals and 12 others
_ABOUT = 0.2  # ORR this close to the least counts as least: stronger additions spoil answers

Scores = npt.NDArray[np.float64]
Estimate = Callable[[Sequence[Conversation]], Scores]
"""Probability that each conversation is refused: float64, ``(conversations,)``; NaN if unjudged."""


def layer_sweep(
    trials: SteeredTrials, requests: Requests, report: Report
) -> tuple[list[Intervention], pd.DataFrame]:
    """Estimate candidates at several layers, with more coefficients where a method works best.

    Returns the best of each method and, for use behind a gate, the weakest addition with about the
    least over-refusal; and the table :data:`aor_lib.steering.tables.LAYER_SWEEP`. SteeringError if
    the first tokens of the model's answers do not separate refusals from other answers.
    """
    model, whole = trials.model, trials.study.profile.generation.max_new_tokens
    estimate = learn_estimate(model, trials.judge, requests, whole)
    among = some_of_each_kind(requests.answers)
    conversations = [requests.conversations[place] for place in among]
    harmful = requests.of_kind("harmful")[among]  # the others are pseudo-harmful

    def rates(refused: Scores) -> Rates:
        refused = np.where(np.isnan(refused), ~harmful, refused)  # no verdict is the worst case
        return {"orr": float(refused[~harmful].mean()), "hrr": float(refused[harmful].mean())}

    def point(candidate: Intervention) -> dict[str, object]:
        with steered(model, candidate):
            return candidate.row | rates(estimate(conversations))

    def points_of(tried: Sequence[Intervention]) -> pd.DataFrame:
        rows = each(model, point, tried, report)
        numbers = dict.fromkeys(("coefficient", "projected_share"), float)
        return pd.DataFrame(rows, columns=COLUMNS[LAYER_SWEEP].split()[1:]).astype(numbers)

    coarse = [tried for layer in layers_to_sweep(requests) for tried in candidates(requests, layer)]
    points = points_of(coarse)
    finer = []
    for _, of_method in points.groupby(["method", "source"], sort=False):
        # Where the direction separates the requests best, and where it lowers over-refusal most.
        places = {(of_method["hrr"] - of_method["orr"]).idxmax(), of_method["orr"].idxmin()}
        for place in sorted(int(str(place)) for place in places):
            finer += variants(coarse[place], requests)
    points = pd.concat([points, points_of(finer)], ignore_index=True)
    unsteered = rates(*each(model, estimate, [conversations], lambda done, of: None))
    additions = points[points["coefficient"].notna()]
    strong = additions[additions["orr"] <= additions["orr"].min() + _ABOUT]
    chosen = {int(str(strong["coefficient"].abs().idxmin()))}
    for _, of_method in points.groupby("method", sort=False):
        chosen.add(int(best(of_method, unsteered["hrr"]).index[0]))
    shortlist = [(coarse + finer)[place] for place in sorted(chosen)]
    none = pd.DataFrame([{"method": "none", "coefficient": 0.0} | unsteered])
    return shortlist, pd.concat([none, points], ignore_index=True)


def layers_to_sweep(requests: Requests) -> list[int]:
    """Indices of the layers in the sweep, from 0."""
    layers = requests.activations["audio"].shape[1]
    spaced = np.linspace(np.floor(_FIRST * layers), np.ceil(_LAST * layers) - 1, LAYERS)
    return sorted({int(place) for place in spaced.round()})


def some_of_each_kind(asked: pd.DataFrame) -> npt.NDArray[np.intp]:
    """Row indices of at most :data:`REQUESTS` pseudo-harmful and as many harmful requests.

    They are evenly spaced rows of ``asked`` in benign scenes, of as many utterances as possible.
    """
    rows = asked.reset_index(drop=True)
    rows = rows[rows["condition"] == Condition.BENIGN_SCENE]
    # The first request of every utterance, then the second of every one, and so on.
    rows = rows.loc[rows.groupby("utterance_id").cumcount().sort_values(kind="stable").index]
    places: list[int] = []
    for intent in ("pseudo_harmful", "harmful"):
        of_kind = rows[rows["intent"] == intent]
        first = of_kind.index[: max(REQUESTS, of_kind["utterance_id"].nunique())]
        places.extend(first[_evenly_spaced(len(first), REQUESTS)])
    return np.sort(places)


def learn_estimate(model: OpenModel, judge: Judge, requests: Requests, whole: int) -> Estimate:
    """Function that estimates refusals by judging answers' first tokens, as few as suffice."""
    kinds = [np.flatnonzero(requests.refused), np.flatnonzero(~requests.refused)]
    shown = np.concatenate([places[_evenly_spaced(len(places), _SHOWN)] for places in kinds])
    conversations = [requests.conversations[place] for place in shown]
    for tokens in sorted({min(tokens, whole) for tokens in BEGINNINGS}):
        estimate = partial(_score_beginnings, model, judge, tokens)
        scores = np.nan_to_num(estimate(conversations), nan=0.5)
        if roc_auc_score(requests.refused[shown], scores) >= TELLS:
            return estimate
    raise SteeringError(f"{model.card.id}: the first {tokens} tokens do not identify refusals")


def _score_beginnings(
    model: AudioModel, judge: Judge, tokens: int, asked: Sequence[Conversation]
) -> Scores:
    answers = model.answer(asked, Generation(max_new_tokens=tokens))
    texts = ["" if isinstance(answer, Failure) else answer.text for answer in answers]
    judged = judge.judgements([(text, None) for text in texts])
    return np.array([judgement.p_refusal for judgement in judged], np.float64)


def _evenly_spaced(number: int, most: int) -> npt.NDArray[np.intp]:
    """At most ``most`` of the indices 0 to ``number - 1``, including the first and the last."""
    return np.linspace(0, number - 1, min(most, number)).round().astype(np.intp)
