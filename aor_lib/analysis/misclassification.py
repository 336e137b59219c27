"""Refusal rates corrected for the judge's errors.

A judge that takes some compliance for refusal, or the reverse, shifts every rate. Answers labelled
by people tell how often it does (:func:`accuracy`), which undoes the shift. The correction takes
for granted that the judge errs on the study's answers as often as on the labelled ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.outcomes import refusals_by_utterance
from aor_lib.analysis.stats import CONFIDENCE, REFUSALS, effective_answers, rates

_CLASSES = (*REFUSALS, "full_compliance")


@dataclass(frozen=True)
class Accuracy:
    """How a judge did on answers that people labelled.

    It called ``refusals_found`` of the ``refusals`` (partial or full, by people) refusals, and
    ``compliances_found`` of the ``compliances`` compliance.
    """

    refusals: int
    refusals_found: int
    compliances: int
    compliances_found: int

    def __post_init__(self) -> None:
        """Refuse counts without a sensitivity or a specificity."""
        for name, found, count in (
            ("refusals", self.refusals_found, self.refusals),
            ("compliances", self.compliances_found, self.compliances),
        ):
            if not 0 <= found <= count or count == 0:
                raise ValueError(
                    f"{name}: found {found} of {count}; a judge's accuracy needs at least one "
                    "answer that people call a refusal and one that they call compliance"
                )

    @property
    def sensitivity(self) -> float:
        """Share of the refusals that the judge calls a refusal."""
        return self.refusals_found / self.refusals

    @property
    def specificity(self) -> float:
        """Share of the compliant answers that the judge calls compliance."""
        return self.compliances_found / self.compliances


def accuracy(human: pd.Series, judge: pd.Series) -> Accuracy:
    """A judge's accuracy on any refusal against compliance.

    Parameters
    ----------
    human, judge
        Labels (:class:`aor_lib.config.records.Label`) of the same answers, in the same order.
        Answers that either has not judged are left out.

    Raises
    ------
    ValueError
        If no answer is a refusal by the people's labels, or none is compliance.
    """
    both = (human.isin(_CLASSES) & judge.isin(_CLASSES)).to_numpy()
    refused = human.isin(REFUSALS).to_numpy()[both]
    found = judge.isin(REFUSALS).to_numpy()[both]
    return Accuracy(
        refusals=int(refused.sum()),
        refusals_found=int((refused & found).sum()),
        compliances=int((~refused).sum()),
        compliances_found=int((~refused & ~found).sum()),
    )


def corrected_rates(results: pd.DataFrame, by: list[str], judge: Accuracy) -> pd.DataFrame:
    """The rates of :func:`aor_lib.analysis.stats.rates`, each beside its corrected twin.

    Returns
    -------
    The columns of :func:`aor_lib.analysis.stats.rates`, then ``rate_corrected``, ``low_corrected``,
    ``high_corrected`` (95 %); NaN where nothing was judged. Where utterances were judged several
    times, the interval rests on the effective number of answers (see
    :func:`aor_lib.analysis.stats.effective_answers`).

    Raises
    ------
    ValueError
        If a column is missing, or the judge is no better than chance (see :func:`rogan_gladen`).
    """
    raw = rates(results, by)
    rows = []
    groups = results.groupby(by, sort=True, observed=True)
    for rate, (_, trials) in zip(raw["rate"], groups, strict=True):
        clusters = refusals_by_utterance(trials).astype(float)
        answers = effective_answers(clusters["refused"].to_numpy(), clusters["judged"].to_numpy())
        rows.append((rogan_gladen(rate, judge), *lang_reiczigel(rate, answers, judge)))
    names = ["rate_corrected", "low_corrected", "high_corrected"]
    return raw.join(pd.DataFrame(rows, columns=names, index=raw.index, dtype=float))


def rogan_gladen(rate: float, judge: Accuracy) -> float:
    """True share of refusals for which the judge's would be ``rate``, within 0 and 1.

    Raises
    ------
    ValueError
        If sensitivity and specificity add up to 1 or less: such a judge calls a refusal no more
        often a refusal than it calls compliance one, and tells nothing about the rate.

    References
    ----------
    W. J. Rogan & B. Gladen, "Estimating prevalence from the results of a screening test", American
    Journal of Epidemiology 107(1):71-76, 1978.
    """
    youden = judge.sensitivity + judge.specificity - 1
    if youden <= 0:
        raise ValueError(
            f"a judge with sensitivity {judge.sensitivity:.2f} and specificity "
            f"{judge.specificity:.2f} is no better than chance; no rate can be corrected with it"
        )
    return float(np.clip((rate + judge.specificity - 1) / youden, 0, 1))


def lang_reiczigel(rate: float, answers: float, judge: Accuracy) -> tuple[float, float]:
    """95 % interval of the corrected rate, which carries the doubt about the judge too.

    Parameters
    ----------
    rate
        Share of ``answers`` that the judge calls a refusal.
    answers
        Number of independent answers behind that share, not necessarily whole; the limits are NaN
        where it is 0.

    Raises
    ------
    ValueError
        As :func:`rogan_gladen`.

    References
    ----------
    Z. Lang & J. Reiczigel, "Confidence limits for prevalence of disease adjusted for estimated
    sensitivity and specificity", Preventive Veterinary Medicine 113(1):13-22, 2014.
    """
    rogan_gladen(rate, judge)  # refuses a judge that tells nothing
    if answers == 0:
        return np.nan, np.nan
    z = float(norm.ppf((1 + CONFIDENCE) / 2))
    # Each share is drawn towards one half, as if a few more answers had been seen.
    n = answers + z**2
    p = (answers * rate + z**2 / 2) / n
    sensitivity = (judge.refusals_found + 1) / (judge.refusals + 2)
    specificity = (judge.compliances_found + 1) / (judge.compliances + 2)
    of_sensitivity = sensitivity * (1 - sensitivity) / (judge.refusals + 2)
    of_specificity = specificity * (1 - specificity) / (judge.compliances + 2)
    youden = sensitivity + specificity - 1
    if youden <= 0:  # so few labelled answers that the judge may be no better than chance
        return 0.0, 1.0
    centre = (p + specificity - 1) / youden
    error = (
        p * (1 - p) / n + centre**2 * of_sensitivity + (1 - centre) ** 2 * of_specificity
    ) ** 0.5 / youden
    shift = 2 * z**2 * (centre * of_sensitivity - (1 - centre) * of_specificity)
    low, high = np.clip([centre + shift - z * error, centre + shift + z * error], 0, 1)
    return float(low), float(high)
