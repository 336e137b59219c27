"""What changes refusal, and what does not, in plain sentences.

Each function takes a frame of :mod:`aor_lib.analysis.stats` by model and the titles of ids, and
returns a sentence for each model, which says no more than the tests allow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from aor_lib.report.figures import odds, points, signed
from aor_lib.report.markdown import listed
from aor_lib.report.result_tables import NOT_ESTIMATED
from aor_lib.report.style import title_of

Names = Mapping[str, str]
Row = Mapping[Any, Any]

ALONE, ELSEWHERE, IN_NOISE = "speech_only", "mismatched", "noise"
_PLACES = {ALONE: "heard alone", ELSEWHERE: "over another scene", IN_NOISE: "over noise"}
_LEVEL = 0.05


def scene_use(differences: pd.DataFrame, rates: pd.DataFrame, names: Names) -> dict[str, str]:
    """For each model, whether it uses the scene, as far as the data show.

    Parameters
    ----------
    differences
        :func:`aor_lib.analysis.stats.paired_differences` of over-refusal from the baseline
        ``matched``, by model, at the levels ``speech_only``, ``mismatched`` and ``noise``.
    rates
        :func:`aor_lib.analysis.stats.rates` of the same trials, by model.
    """
    refused = rates.set_index("model")["refused"]
    return {
        title_of(model, names): _scene_use(rows)
        if refused[model]
        else "refused none of these requests in any of these conditions, so there was nothing for "
        "the scene to change."
        for model, rows in differences.dropna(subset=["difference"]).groupby("model")
    }


def changes(differences: pd.DataFrame, names: Names) -> dict[str, str]:
    """For each model, which paired differences can be told from zero after Holm's correction.

    ``differences`` is :func:`aor_lib.analysis.stats.paired_differences` by model.
    """
    return {
        title_of(model, names): _changes(
            rows, lambda row: f"{_against(row, names)} {_difference(row)}"
        )
        for model, rows in differences.dropna(subset=["difference"]).groupby("model")
    }


def effects(estimates: pd.DataFrame, names: Names) -> dict[str, str]:
    """For each model, which effects can be told from none, and which could not be estimated.

    ``estimates`` is :func:`aor_lib.analysis.stats.factor_effects` by model.
    """
    found = {}
    for model, rows in estimates.groupby("model"):
        known = rows[rows["status"] == "estimated"]
        missing = [
            f"{listed(_lower(level, names) for level in group['level'])} "
            f"({NOT_ESTIMATED[str(reason)]})"
            for reason, group in rows[rows["status"] != "estimated"].groupby("status", sort=False)
        ]
        said = [_changes(known, lambda row: _effect(row, names))] if len(known) else []
        reasons = set(rows["status"])
        if reasons == {"too few utterances"}:
            missing, said = [], [f"too few utterances: it takes more than {len(rows) + 1} of them."]
        elif len(known) == 0 and len(reasons) == 1:
            missing, said = [], [f"nothing can be estimated: {NOT_ESTIMATED[reasons.pop()]}."]
        said += [f"Not estimated: {'; '.join(missing)}."] if missing else []
        found[title_of(model, names)] = " ".join(said)
    return found


def _scene_use(rows: pd.DataFrame) -> str:
    found = {row["level"]: row for row in rows.to_dict("records")}
    told = {level for level, row in found.items() if row["p_holm"] < _LEVEL}
    more = {level for level in told if found[level]["difference"] > 0}
    beside = "; ".join(
        f"{place} {_difference(found[level])}" for level, place in _PLACES.items() if level in found
    )
    beside = f"Against its matched scene, over-refusal changes: {beside}."
    if more == {ALONE, ELSEWHERE, IN_NOISE}:
        verdict = "uses the scene: it refuses less where the scene makes the request harmless."
    elif more and ELSEWHERE in more:
        verdict = "uses the scene in part: it refuses more over another scene, but not everywhere."
    elif more:
        places = listed(place for level, place in _PLACES.items() if level in more)
        verdict = (
            f"refuses more {places} than in its matched scene, but is not shown to tell this scene "
            "from another: any sound may do."
        )
    elif told:
        places = listed(place for level, place in _PLACES.items() if level in told)
        verdict = f"refuses less {places} than in the scene that makes the request harmless."
    else:
        reach = rows[["low", "high"]].abs().to_numpy().max()
        verdict = (
            "shows no use of the scene. An effect of up to "
            f"{100 * reach:.1f} points lies within the intervals."
        )
    return f"{verdict} {beside}"


def _changes(rows: pd.DataFrame, shown: Callable[[Row], str]) -> str:
    told = rows[rows["p_holm"] < _LEVEL]
    others = rows.drop(told.index)
    reach = f"{points(others['low'].min())} to {points(others['high'].max())}"
    if told.empty and len(others) == 1:
        return f"not told from zero: {shown(others.to_dict('records')[0])}."
    if told.empty:
        return f"none of {len(others)} differences is told from zero; intervals reach from {reach}."
    said = "; ".join(shown(row) for row in told.to_dict("records"))
    if others.empty:
        return f"{said}."
    rest = "other difference is" if len(others) == 1 else f"{len(others)} other differences are"
    return f"{said}. The {rest} not told from zero; intervals reach from {reach}."


def _effect(row: Row, names: Names) -> str:
    low, high = row["odds_ratio_low"], row["odds_ratio_high"]
    return (
        f"{_against(row, names)} {_difference(row)}, odds ratio {odds(row['odds_ratio'])} "
        f"({odds(low)} to {odds(high)})"
    )


def _against(row: Row, names: Names) -> str:
    return f"{_lower(row['level'], names)} against {_lower(row['baseline'], names)}"


def _difference(row: Row) -> str:
    return (
        f"{points(row['difference'])} ({signed(100 * row['low'], '+.1f')} to "
        f"{signed(100 * row['high'], '+.1f')})"
    )


def _lower(value: object, names: Names) -> str:
    title = title_of(value, names)
    return title[:1].lower() + title[1:]
