"""Refusal rates, their differences and d' corrected for the judge's errors.

A judge that takes some compliance for refusal, or the reverse, shifts every rate. Answers labelled
by people tell how often it does (:func:`accuracy`), which undoes the shift. The correction takes
for granted that the models of the study are to the judge what one more of the models whose answers
people labelled would be, and that it errs on a model as often in one condition as in another.

Each function gives the rows of its namesake in :mod:`aor_lib.analysis.stats` twice, with ``kind``
``as_judged`` and ``corrected``. The intervals (95 %) are quantiles of joint draws: of the judge's
accuracy, the same in all rates of a model, and of the utterances, the same in the rates that are
compared (:func:`aor_lib.analysis.stats.intervals.rate_draws`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from aor_lib.analysis import stats
from aor_lib.analysis.outcomes import refusals_by_utterance
from aor_lib.analysis.stats import CONFIDENCE, REFUSALS
from aor_lib.analysis.stats.intervals import DRAWS, Floats, over_clusters, rate_draws
from aor_lib.analysis.stats.paired import utterance_differences

_CLASSES = (*REFUSALS, "full_compliance")
_JUDGE_SEED, _STUDY_SEED = 1, 2  # apart, since a judge's errors know nothing of the study
_Estimate = tuple[float, float, float]  # with its limits
_NONE = (np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Accuracy:
    """A judge's sensitivity and specificity on one more model.

    ``draws``, float64 ``(DRAWS, 2)``, hold both as they may be.
    """

    sensitivity: float
    specificity: float
    draws: Floats = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a judge that calls a refusal no more often a refusal than it does compliance."""
        if self.sensitivity + self.specificity <= 1:
            raise ValueError(
                f"a judge with sensitivity {self.sensitivity:.2f} and specificity "
                f"{self.specificity:.2f} is no better than chance; no rate can be corrected with it"
            )


def by_source(labelled: pd.DataFrame) -> pd.DataFrame:
    """Sensitivity and specificity of a judge on the answers of each source model.

    ``labelled`` has one row per answer: ``source_model``, ``prompt_id``, and the labels ``human``
    and ``judge``; answers that either has not judged are left out. The table is indexed by
    ``source_model``: ``refusals`` (by people, partial ones too), ``sensitivity`` (share of them
    that the judge calls a refusal), ``compliances``, ``specificity`` (share of them that it calls
    compliance). ValueError if a source model has none of either.
    """
    refused, judged = _called_refusals(labelled)
    share, count = refused.sum() / judged.sum(), judged.sum().astype(int)
    return pd.DataFrame(
        {
            "refusals": count.xs(True, level="refusal"),
            "sensitivity": share.xs(True, level="refusal"),
            "compliances": count.xs(False, level="refusal"),
            "specificity": 1 - share.xs(False, level="refusal"),
        }
    )


def accuracy(labelled: pd.DataFrame) -> Accuracy:
    """Accuracy of a judge on any refusal against compliance, for a model that nobody labelled.

    The estimates are means over the source models. Their draws resample prompts, each with the
    answers of all source models, and add how far one more model may lie from the mean: a
    multivariate t with the spread of the source models and one degree of freedom fewer than there
    are of them. Resampling a few source models would give no model that lies outside them.

    References
    ----------
    J. P. T. Higgins, S. G. Thompson & D. J. Spiegelhalter, "A re-evaluation of random-effects
    meta-analysis", Journal of the Royal Statistical Society A 172(1):137-159, 2009
    (one more group; its degrees of freedom are fewer by one, since it takes the groups' own errors
    out of the spread, which here stay in it).
    """
    of_source = by_source(labelled)[["sensitivity", "specificity"]]
    sources = len(of_source)
    if sources < 2:
        raise ValueError("one source model cannot tell how a judge's accuracy differs with models")
    refused, judged = (frame.to_numpy(float) for frame in _called_refusals(labelled))
    means = rate_draws(refused, judged, _JUDGE_SEED).reshape(DRAWS, sources, 2).mean(axis=1)
    rng = np.random.default_rng(_JUDGE_SEED)
    spread = of_source.to_numpy() - of_source.to_numpy().mean(axis=0)
    reach = np.sqrt((1 + 1 / sources) / rng.chisquare(sources - 1, (DRAWS, 1)))
    one_more = reach * (rng.standard_normal((DRAWS, sources)) @ spread)
    centre = np.column_stack([means[:, 1], 1 - means[:, 0]])
    sensitivity, specificity = of_source.mean()
    return Accuracy(sensitivity, specificity, draws=np.clip(centre + one_more, 0, 1))


def rates(results: pd.DataFrame, by: list[str], judge: Accuracy) -> pd.DataFrame:
    """The rates of :func:`aor_lib.analysis.stats.rates`, as judged and corrected.

    References
    ----------
    W. J. Rogan & B. Gladen, "Estimating prevalence from the results of a screening test", American
    Journal of Epidemiology 107(1):71-76, 1978.
    """
    raw = stats.rates(results, by)
    groups = results.groupby(by, sort=True, observed=True)
    estimates = [_rate(refusals_by_utterance(trials), judge) for _, trials in groups]
    return _twice(raw, ["rate", "low", "high"], estimates)


def paired_differences(
    results: pd.DataFrame, factor: str, baseline: str, by: list[str], judge: Accuracy
) -> pd.DataFrame:
    """The rows of :func:`aor_lib.analysis.stats.paired_differences`, as judged and corrected.

    A judge that errs alike on both sides makes a difference smaller and none out of nothing: the
    tests are the same.
    """
    raw = stats.paired_differences(results, factor, baseline, by)
    cells = utterance_differences(results, factor, baseline, by)
    estimates = [_difference(differences, judge) for _, differences in cells]
    return _twice(raw, ["difference", "low", "high"], estimates)


def rogan_gladen(
    rate: Floats | float, sensitivity: Floats | float, specificity: Floats | float
) -> Floats:
    """True share of refusals for which a judge's would be ``rate``, also beyond 0 and 1.

    NaN where a judge is no better than chance, and tells nothing.
    """
    return np.asarray((rate + specificity - 1) / _youden(sensitivity, specificity))


def _youden(sensitivity: Floats | float, specificity: Floats | float) -> Floats:
    """Youden's index; NaN where it is not above 0."""
    index = np.asarray(sensitivity + specificity - 1, dtype=np.float64)
    return np.where(index > 0, index, np.nan)


def _called_refusals(labelled: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers that the judge calls a refusal, and all, by prompt: columns source and refusal."""
    known = labelled[labelled["human"].isin(_CLASSES) & labelled["judge"].isin(_CLASSES)]
    called = known["judge"].isin(REFUSALS).astype(float)
    refusal = known["human"].isin(REFUSALS).rename("refusal")
    groups = called.groupby([known["prompt_id"], known["source_model"], refusal])
    refused, judged = (
        of_cells.unstack([1, 2], fill_value=0).sort_index(axis=1)
        for of_cells in (groups.sum(), groups.size())
    )
    for source in labelled["source_model"].unique():
        for truth, name in ((True, "refusal"), (False, "compliance")):
            if (source, truth) not in judged:
                raise ValueError(f"{source}: no answer is a {name} by people's labels")
    return pd.DataFrame(refused), pd.DataFrame(judged)


def _rate(cell: pd.DataFrame, judge: Accuracy) -> _Estimate:
    if cell.empty:
        return _NONE
    return _limited(_corrected(cell, judge), _draws([cell], judge)[:, 0], 0, 1)


def _difference(differences: Floats, judge: Accuracy) -> _Estimate:
    # A judge's false alarms are the same on both sides, and what is left is scaled.
    if len(differences) == 0:
        return _NONE
    as_rates = (differences[:, None] + 1) / 2
    draws = 2 * rate_draws(as_rates, np.ones_like(as_rates), _STUDY_SEED)[:, 0] - 1
    estimate = float(differences.mean() / _youden(judge.sensitivity, judge.specificity))
    return _limited(estimate, draws / _youden(*judge.draws.T), -1, 1)


def _corrected(cell: pd.DataFrame, judge: Accuracy) -> float:
    rate = cell["refused"].sum() / cell["judged"].sum()
    return float(rogan_gladen(rate, judge.sensitivity, judge.specificity))


def _draws(cells: Sequence[pd.DataFrame], judge: Accuracy) -> Floats:
    """Draws of the corrected rates, float64 ``(DRAWS, cells)``, within 0 and 1."""
    refused, judged = over_clusters(cells)
    corrected = rogan_gladen(
        rate_draws(refused, judged, _STUDY_SEED), judge.draws[:, :1], judge.draws[:, 1:]
    )
    # What was corrected to no refusal among so many answers leaves as much doubt as finding none.
    none, every = (rate_draws(share * judged, judged, _STUDY_SEED) for share in (0, 1))
    return np.clip(corrected, none, every)


def _limited(estimate: float, draws: Floats, lowest: float, highest: float) -> _Estimate:
    """An estimate within its range, and the limits of its draws; NaN may be anything."""
    tail = (1 - CONFIDENCE) / 2
    low, high = (
        np.quantile(np.nan_to_num(draws, nan=worst), quantile, method="inverted_cdf")
        for worst, quantile in ((lowest, tail), (highest, 1 - tail))
    )
    estimate, low, high = np.clip([estimate, low, high], lowest, highest)
    return float(estimate), float(min(low, estimate)), float(max(high, estimate))


def _twice(raw: pd.DataFrame, names: list[str], estimates: list[_Estimate]) -> pd.DataFrame:
    corrected = pd.DataFrame(estimates, columns=names, index=raw.index, dtype=float)
    twin = raw.assign(kind="corrected")
    twin[names] = corrected
    return pd.concat([raw.assign(kind="as_judged"), twin], ignore_index=True)
