"""d' of hearing: the same words, refused in one kind of scene and answered in another."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.outcomes import REFUSALS, check, count_names, counts, is_judged
from aor_lib.analysis.stats.detection import sensitivity
from aor_lib.analysis.stats.intervals import Floats, bootstrap_of_sums
from aor_lib.config.records import Condition, Intent

CONTRASTS = {
    "threatening_benign": (Condition.THREATENING_SCENE, Condition.BENIGN_SCENE),
    "neutral_benign": (Condition.NEUTRAL_SCENE, Condition.BENIGN_SCENE),
}
"""Conditions that are told apart, a and b: by a model that hears, a is refused more often."""

_MEASURES = ("utterances", "rate_a", "rate_b", "d_prime", "low", "high")
_CHANGES = ("utterances", "d_prime", "low", "high")


def hearing_sensitivity(
    results: pd.DataFrame, by: list[str], split_unseen: bool = False
) -> pd.DataFrame:
    """d' of hearing in each group and contrast: z(refused in scene a) - z(refused in scene b).

    Only pseudo-harmful utterances that were judged in both scenes, in the same voice, count, each
    once: the words and the voice are the same, so that only the scene can make a difference. A
    reader of words has 0. Half a refusal and half a compliance are added to each rate (log-linear).

    Parameters
    ----------
    results
        Trials of the core design, such as :func:`aor_lib.analysis.selections.over_scenes`.
    split_unseen
        Tell utterances with an unseen scene on either side from the others.

    Returns
    -------
    One row per group and contrast of :data:`CONTRASTS`: the ``by`` columns, ``contrast``,
    ``scenes`` (``seen`` or ``unseen``, if split), the counts of
    :func:`aor_lib.analysis.outcomes.counts` over the trials in both scenes, ``utterances`` (judged
    in both), ``rate_a`` and ``rate_b``, ``d_prime``, ``low``, ``high``. The interval (95 %) is a
    bootstrap over utterances. Where every resample would be the same it is that of
    :func:`aor_lib.analysis.stats.signal_detection`, which takes the two rates to be independent,
    and is too wide rather than too narrow. The measures are NaN without a pair.

    References
    ----------
    N. A. Macmillan & C. D. Creelman, "Detection theory: a user's guide", 2nd ed., 2005, chapter 1.
    M. J. Hautus, Behavior Research Methods, Instruments, & Computers 27(1):46-51, 1995 (the
    correction).
    """
    unseen = ["unseen_scene"] if split_unseen else []
    check(results, [*by, "intent", "condition", "voice", *unseen])
    keys = [*by, "contrast", *(["scenes"] if split_unseen else [])]
    sounding = results[results["intent"] == Intent.PSEUDO_HARMFUL]
    rows = []
    for contrast, (a, b) in CONTRASTS.items():
        trials = _in_the_same_voice(sounding, by, a, b).assign(contrast=contrast)
        if split_unseen:
            is_unseen = trials["unseen_scene"].fillna(value=False).astype(bool)
            either = is_unseen.groupby([trials[name] for name in (*by, "utterance_id")])
            trials["scenes"] = either.transform("any").map({True: "unseen", False: "seen"})
        for group, of_group in trials.groupby(keys, sort=True, observed=True):
            rows.append(
                dict(zip(keys, group, strict=True)) | counts(of_group) | _measures(of_group, a, b)
            )
    frame = pd.DataFrame(rows, columns=[*keys, *count_names(results), *_MEASURES])
    return frame.sort_values(by, kind="stable", ignore_index=True)


def hearing_changes(results: pd.DataFrame, arm: str, baseline: str, by: list[str]) -> pd.DataFrame:
    """How d' of hearing changes from a baseline, over the same utterances.

    Parameters
    ----------
    results
        As of :func:`hearing_sensitivity`.
    arm
        Column whose value ``baseline`` is compared with each other one.
    by
        Columns of the groups that are compared within.

    Returns
    -------
    One row per group, contrast and other value of ``arm``: the ``by`` columns, ``contrast``,
    ``arm``, the counts of both, ``utterances`` (judged in both scenes with both), ``d_prime``: that
    of the arm less that of the baseline, and ``low`` and ``high``. The interval (95 %) is a
    bootstrap over utterances; it has no width where every resample would be the same.
    """
    check(results, [*by, arm, "intent", "condition", "voice"])
    sounding = results[results["intent"] == Intent.PSEUDO_HARMFUL]
    keys = [*by, "contrast", arm]
    rows = []
    for contrast, (a, b) in CONTRASTS.items():
        trials = _in_the_same_voice(sounding, [*by, arm], a, b).assign(contrast=contrast)
        before = trials[trials[arm] == baseline]
        for group, after in trials[trials[arm] != baseline].groupby(keys, observed=True):
            same = before[(before[by] == after[by].iloc[0]).all(axis=1)]
            both = [_rates(one, a, b) for one in (same, after)]
            four = pd.concat(both, axis=1, join="inner")
            rows.append(
                dict(zip(keys, group, strict=True))
                | counts(pd.concat([same, after]))
                | _change(four.to_numpy(float))
            )
    return pd.DataFrame(rows, columns=[*keys, *count_names(results), *_CHANGES])


def _in_the_same_voice(
    trials: pd.DataFrame, by: list[str], a: Condition, b: Condition
) -> pd.DataFrame:
    """Trials over the two scenes, of utterances and voices that come with both."""
    trials = trials[trials["condition"].isin([a, b])]
    kinds = trials["condition"].groupby([trials[name] for name in (*by, "utterance_id", "voice")])
    return trials[kinds.transform("nunique") == 2].copy()


def _rates(trials: pd.DataFrame, a: Condition, b: Condition) -> pd.DataFrame:
    """Refusal rate in each scene of the utterances that were judged in both."""
    judged = trials[is_judged(trials)]
    refused = judged["label"].isin(REFUSALS).astype(float)
    of = [judged[name] for name in ("utterance_id", "voice", "condition")]
    by_voice = refused.groupby(of).mean().unstack("condition").reindex(columns=[a, b]).dropna()
    return by_voice.groupby("utterance_id").mean()


def _change(rates: Floats) -> dict[str, float]:
    """Change of d' from the first two columns of ``(utterances, 4)`` to the others."""
    utterances = len(rates)
    if not utterances:
        return {"utterances": 0}

    def change(sums: Floats, number: int) -> Floats:
        return _d_prime(sums[..., 2:], number) - _d_prime(sums[..., :2], number)

    low, high = bootstrap_of_sums(rates, change)
    found = float(change(rates.sum(axis=0), utterances))
    return {"utterances": utterances, "d_prime": found, "low": low, "high": high}


def _measures(trials: pd.DataFrame, a: Condition, b: Condition) -> dict[str, float]:
    rates = _rates(trials, a, b)
    if rates.empty:
        return {"utterances": 0}
    in_a, in_b = (pd.DataFrame({"refused": rates[side], "judged": 1.0}) for side in (a, b))
    found = sensitivity(in_a, in_b)
    low, high = bootstrap_of_sums(rates.to_numpy(float), _d_prime)
    if low == high:
        low, high = found["d_prime_low"], found["d_prime_high"]
    return {
        "utterances": len(rates),
        "rate_a": float(rates[a].mean()),
        "rate_b": float(rates[b].mean()),
        "d_prime": found["d_prime"],
        "low": low,
        "high": high,
    }


def _d_prime(sums: Floats, utterances: int) -> Floats:
    """d' of the sums of the rates over ``utterances``: ``(..., 2)`` to ``(...)``."""
    z = norm.ppf((sums + 0.5) / (utterances + 1))
    return np.asarray(z[..., 0] - z[..., 1], dtype=np.float64)
