"""Effect of each factor of the stimuli on refusal, the others held fixed: logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import t

from aor_lib.analysis.outcomes import REFUSALS, check, count_names, counts, is_judged
from aor_lib.analysis.stats.intervals import CONFIDENCE, Floats
from aor_lib.analysis.stats.separation import Bools, independent_columns, overlapping, row_space

_ITERATIONS = 60
_NO_ERROR = 1e-8  # all utterances alike, which leaves no variance between them to go by
_ANY_ERROR = 10.0  # of log odds: whatever the odds ratio, it would be in its interval
_MEASURES = ("odds_ratio", "odds_ratio_low", "odds_ratio_high", "difference", "low", "high")


@dataclass(frozen=True)
class _Effect:
    """A level of a factor against its baseline, or a step of a numeric factor."""

    factor: str
    level: Any
    baseline: Any
    is_step: bool = False

    def names(self) -> dict[str, str]:
        signs = "+g" if self.is_step else ""
        level, baseline = format(self.level, signs), format(self.baseline, signs)
        return {"factor": self.factor, "level": level, "baseline": baseline}

    def column(self, trials: pd.DataFrame) -> pd.Series[Any]:
        """The effect's column of a regression's design."""
        values: pd.Series[Any] = trials[self.factor]
        return values / self.level if self.is_step else values.eq(self.level)

    def trials(self, trials: pd.DataFrame) -> pd.DataFrame:
        """Trials at the level or the baseline."""
        sides = [self.level, self.baseline]
        return trials if self.is_step else trials[trials[self.factor].isin(sides)]


@dataclass(frozen=True)
class _Fit:
    """Coefficients of some columns of a design, float64 ``(columns,)``, and their covariance."""

    columns: Any
    coefficients: Floats
    covariance: Floats
    degrees: int


def factor_effects(
    results: pd.DataFrame, factors: Mapping[str, str | float], by: list[str]
) -> pd.DataFrame:
    """Effect of each factor on refusal, adjusted for the others, in each group.

    A logistic regression on all factors at once by generalised estimating equations, clustered on
    utterances whose answers share one correlation (none is taken where too few utterances have
    several answers to tell it), with the covariance corrected for few clusters and Student's t. The
    difference is marginal: the mean change of the predicted rate were all of the group's trials
    moved from the baseline to the level, with an interval by the delta method. A trial of which
    another factor tells that it is always or never refused counts among them, with a change of 0.

    Parameters
    ----------
    factors
        The columns to explain refusal by. A text is the baseline of a factor with levels, with
        which each other level is compared; a number is a step of a numeric column, whose effect is
        taken as linear in the log odds.

    Returns
    -------
    One row per group and level: the ``by`` columns, ``factor``, ``level``, ``baseline``, the counts
    of :func:`aor_lib.analysis.outcomes.counts` over the trials at either, ``status``,
    ``odds_ratio``, ``odds_ratio_low``, ``odds_ratio_high``, ``difference``, ``low``, ``high`` (95
    %). Nothing is tested: the paired differences are, and one comparison is in one family.

    All measures are NaN unless ``status`` is ``estimated``. ``separated``: the level or its
    baseline has only refusals or none, alone or combined with other factors, so that the odds ratio
    is infinite or zero. ``confounded``: no judged trials can tell the effect, or not from that of
    another factor. ``too few utterances``: no more than there are coefficients, all of them
    alike, or so few unlike ones that any odds ratio would do. ``not converged``.

    Raises
    ------
    ValueError
        If a baseline is missing, a trial has no value of a factor, or a step is of a column that
        is not numeric.

    References
    ----------
    K.-Y. Liang & S. L. Zeger, Biometrika 73(1):13-22, 1986 (GEE). L. A. Mancl & T. A. DeRouen,
    Biometrics 57(1):126-134, 2001 (covariance). A. Agresti, "Categorical data analysis", 3rd ed.,
    2013, sections 5.1.4 and 16.1 (marginal differences).
    """
    check(results, [*by, *factors])
    effects = [
        effect
        for factor, reference in factors.items()
        for effect in _effects(results[factor], reference)
    ]
    rows = []
    for group, trials in results.groupby(by, sort=True, observed=True):
        measured = _measure(trials[is_judged(trials)], effects)
        for effect, measures in zip(effects, measured, strict=True):
            rows.append(
                dict(zip(by, group, strict=True))
                | effect.names()
                | counts(effect.trials(trials))
                | measures
            )
    names = ["factor", "level", "baseline", *count_names(results), "status", *_MEASURES]
    return pd.DataFrame(rows, columns=[*by, *names])


def _effects(values: pd.Series[Any], reference: str | float) -> list[_Effect]:
    factor = str(values.name)
    if values.isna().any():
        raise ValueError(
            f"{factor}: {values.isna().sum()} trials have no value; leave them out first"
        )
    if not isinstance(reference, str):
        if len(values) and not pd.api.types.is_numeric_dtype(values):
            raise ValueError(f"{factor}: is not numeric and has no step; name its baseline")
        return [_Effect(factor, float(reference), 0.0, is_step=True)]
    levels = sorted(values.unique())
    if reference not in levels:
        raise ValueError(
            f"{factor}: no trial has the baseline {reference!r}; choose one of "
            f"{', '.join(map(str, levels))}"
        )
    return [_Effect(factor, level, reference) for level in levels if level != reference]


def _measure(judged: pd.DataFrame, effects: Sequence[_Effect]) -> Iterator[dict[str, Any]]:
    """``status`` and measures of each effect."""
    columns = [effect.column(judged) for effect in effects]
    design = np.column_stack([np.ones(len(judged)), *columns]).astype(float)
    refused = judged["label"].isin(REFUSALS).to_numpy()
    kept = overlapping(design, refused)
    everywhere, here = row_space(design), row_space(design[kept])
    fit = _fit(design[kept], refused[kept], judged["utterance_id"].to_numpy()[kept])
    for effect in effects:
        pair = _counterfactuals(design, effects, effect)
        if not all(_within(rows, everywhere) for rows in pair):
            yield {"status": "confounded"}
        elif not all(_within(rows[kept], here) for rows in pair):
            yield {"status": "separated"}
        elif isinstance(fit, str):
            yield {"status": fit}
        else:
            # Other rows have infinite log odds at either level, and so the same prediction.
            finite = _within_each(pair[0], here) & _within_each(pair[1], here)
            level, baseline = (rows[np.ix_(finite, fit.columns)] for rows in pair)
            yield _compare(level, baseline, fit, share=finite.mean())


def _counterfactuals(
    design: Floats, effects: Sequence[_Effect], effect: _Effect
) -> tuple[Floats, Floats]:
    """The design with all rows at the level, and with all at the baseline."""
    level, baseline = design.copy(), design.copy()
    column = 1 + effects.index(effect)
    if effect.is_step:
        level[:, column] += 1
    else:
        of_factor = [1 + i for i, other in enumerate(effects) if other.factor == effect.factor]
        level[:, of_factor] = baseline[:, of_factor] = 0
        level[:, column] = 1
    return level, baseline


def _within(rows: Floats, projection: Floats) -> bool:
    return bool(_within_each(rows, projection).all()) and len(rows) > 0


def _within_each(rows: Floats, projection: Floats) -> Bools:
    return np.asarray(np.isclose(rows @ projection, rows, atol=1e-6).all(axis=1))


def _fit(design: Floats, refused: Any, utterances: Any) -> _Fit | str:
    """The regression, or why there is none."""
    # Imported where it is used: a fifth of what a notebook waits for before it begins.
    from statsmodels.genmod.cov_struct import Exchangeable, Independence
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    if len(design) == 0:
        return "separated"
    columns = independent_columns(design)
    sizes = np.unique(utterances, return_counts=True)[1]
    degrees = len(sizes) - len(columns)
    if degrees < 1:
        return "too few utterances"
    pairs = (sizes * (sizes - 1)).sum() / 2
    model = GEE(
        refused.astype(float),
        design[:, columns],
        groups=utterances,
        family=Binomial(),
        cov_struct=Exchangeable() if pairs > len(columns) else Independence(),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of is looked at below
        try:
            fit = model.fit(maxiter=_ITERATIONS, cov_type="bias_reduced")
        except np.linalg.LinAlgError:
            return "not converged"
    if fit is None or not fit.converged or not np.isfinite(fit.cov_params()).all():
        return "not converged"
    return _Fit(columns, np.asarray(fit.params), np.asarray(fit.cov_params()), degrees)


def _compare(level: Floats, baseline: Floats, fit: _Fit, share: float) -> dict[str, Any]:
    """The measures from a ``share`` of all rows; the others do not change."""
    contrast = level[0] - baseline[0]
    log_odds = float(contrast @ fit.coefficients)
    error = float(np.sqrt(max(0.0, contrast @ fit.covariance @ contrast)))
    if not _NO_ERROR <= error <= _ANY_ERROR:
        return {"status": "too few utterances"}
    at_level, at_baseline = expit(level @ fit.coefficients), expit(baseline @ fit.coefficients)
    difference = share * float(np.mean(at_level - at_baseline))
    slopes = (at_level * (1 - at_level))[:, None] * level
    slopes -= (at_baseline * (1 - at_baseline))[:, None] * baseline
    gradient = share * slopes.mean(axis=0)
    margin = float(np.sqrt(gradient @ fit.covariance @ gradient))
    reach = float(t.ppf((1 + CONFIDENCE) / 2, fit.degrees))
    odds = np.exp(log_odds + reach * error * np.array([0.0, -1.0, 1.0]))
    return {
        "status": "estimated",
        "odds_ratio": float(odds[0]),
        "odds_ratio_low": float(odds[1]),
        "odds_ratio_high": float(odds[2]),
        "difference": difference,
        "low": max(-1.0, difference - reach * margin),
        "high": min(1.0, difference + reach * margin),
    }
