"""Refusal rates corrected for the judge's errors.

A judge that takes some compliance for refusal, or the reverse, shifts every rate. Answers labelled
by people tell how often it does (:func:`accuracy`). The correction assumes that a model of the
study is to the judge what one more of the models whose answers people labelled would be.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS, refusals_by_utterance
from aor_lib.analysis.stats import CONFIDENCE, rates
from aor_lib.analysis.stats.intervals import DRAWS, Floats, over_clusters, rate_draws

_CLASSES = (*REFUSALS, "full_compliance")
_JUDGE_SEED, _STUDY_SEED = 1, 2  # the errors of a judge are independent of the study's utterances


@dataclass(frozen=True)
class Accuracy:
    """A judge's sensitivity and specificity on one more model.

    ``draws``, float64 ``(DRAWS, 2)``, hold both as they may be.
    """

    sensitivity: float
    specificity: float
    draws: Floats = field(repr=False, compare=False)


def by_source(labelled: pd.DataFrame) -> pd.DataFrame:
    """Sensitivity and specificity of a judge on the answers of each source model.

    Parameters
    ----------
    labelled
        One row per answer: ``source_model``, ``prompt_id``, and the labels ``human`` and
        ``judge``. Answers that either has not judged are left out.

    Returns
    -------
    Indexed by ``source_model``: ``refusals`` (by people, partial ones too), ``sensitivity`` (share
    of them that the judge calls a refusal), ``compliances``, ``specificity`` (share of them that
    it calls compliance).

    Raises
    ------
    ValueError
        If a source model has no refusal or no compliance.
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
    multivariate t with the spread of the source models.

    Parameters
    ----------
    labelled
        As in :func:`by_source`, of at least two source models.

    Raises
    ------
    ValueError
        If there are fewer source models, or the judge is no better than chance.

    References
    ----------
    J. P. T. Higgins, S. G. Thompson & D. J. Spiegelhalter, "A re-evaluation of random-effects
    meta-analysis", Journal of the Royal Statistical Society A 172(1):137-159, 2009.
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
    if sensitivity + specificity <= 1:
        raise ValueError(
            f"a judge with sensitivity {sensitivity:.2f} and specificity {specificity:.2f} is no "
            "better than chance; no rate can be corrected with it"
        )
    return Accuracy(sensitivity, specificity, draws=np.clip(centre + one_more, 0, 1))


def corrected_rates(results: pd.DataFrame, by: list[str], judge: Accuracy) -> pd.DataFrame:
    """The rows of :func:`aor_lib.analysis.stats.rates` twice: as judged, and corrected.

    Returns
    -------
    Those rows with a column ``kind``, ``as_judged`` or ``corrected``. Intervals of corrected rates
    (95 %) are quantiles of joint draws of the judge's accuracy and of the utterances.

    References
    ----------
    W. J. Rogan & B. Gladen, "Estimating prevalence from the results of a screening test", American
    Journal of Epidemiology 107(1):71-76, 1978.
    """
    raw = rates(results, by)
    groups = results.groupby(by, sort=True, observed=True)
    estimates = [_corrected(refusals_by_utterance(trials), judge) for _, trials in groups]
    twin = raw.assign(kind="corrected")
    twin[["rate", "low", "high"]] = np.array(estimates, dtype=float).reshape(len(raw), 3)
    return pd.concat([raw.assign(kind="as_judged"), twin], ignore_index=True)


def _corrected(cell: pd.DataFrame, judge: Accuracy) -> tuple[float, float, float]:
    """A corrected rate and its limits."""
    if cell.empty:
        return np.nan, np.nan, np.nan
    refused, judged = over_clusters([cell])
    rate = np.asarray(refused.sum() / judged.sum())
    estimate = float(np.clip(_rogan_gladen(rate, judge.sensitivity, judge.specificity), 0, 1))
    drawn = rate_draws(refused, judged, _STUDY_SEED)
    corrected = _rogan_gladen(drawn, judge.draws[:, :1], judge.draws[:, 1:])
    # What was corrected to no refusal among so many answers leaves as much doubt as finding none.
    none, every = (rate_draws(share * judged, judged, _STUDY_SEED) for share in (0, 1))
    draws = np.clip(corrected, none, every)[:, 0]
    tail = (1 - CONFIDENCE) / 2
    low = np.quantile(np.nan_to_num(draws, nan=0), tail, method="inverted_cdf")
    high = np.quantile(np.nan_to_num(draws, nan=1), 1 - tail, method="inverted_cdf")
    return estimate, min(float(low), estimate), max(float(high), estimate)


def _rogan_gladen(rate: Floats, sensitivity: Floats | float, specificity: Floats | float) -> Floats:
    """True rate behind a judged one, also beyond 0 and 1; NaN if the judge tells nothing."""
    index = np.asarray(sensitivity + specificity - 1, dtype=np.float64)
    return np.asarray((rate + specificity - 1) / np.where(index > 0, index, np.nan))


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
