"""Results of tests in plain sentences, which say no more than the intervals allow.

Frames are those of :mod:`aor_lib.analysis.stats`; ``names`` are the titles of ids
(:func:`aor_lib.report.style.titles`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from aor_lib.report.detection_charts import pairs
from aor_lib.report.figures import estimate, points, signed
from aor_lib.report.markdown import Prose, bullets, nothing_for, paragraph
from aor_lib.report.style import cell_title, title_of

Names = Mapping[str, str]

SIGNIFICANCE = 0.05
ALONE, ELSEWHERE, IN_NOISE = "speech_only", "neutral_scene", "noise"
"""Conditions that a use of the benign scene is told from."""


def finding(rates: pd.DataFrame, names: Names) -> str:
    """Rates of the models that over-refuse most and least, and if their intervals overlap.

    ``rates`` is :func:`aor_lib.analysis.stats.rates` by model and intent.
    """
    ordered = pairs(rates).dropna().sort_values("orr", ascending=False, kind="stable")
    if ordered.empty:
        return "This build has no pair of rates to weigh against each other."
    most, least = ordered.iloc[0], ordered.iloc[-1]
    sentences = [
        f"{names.get(row['model'], row['model'])} refused {estimate(row, 'orr')} of the requests "
        f"that only sound harmful, and {estimate(row, 'hrr')} of those that are."
        for row in (most, least)
    ]
    if len(ordered) == 1:
        return sentences[0]
    apart = least["orr_high"] < most["orr_low"]
    verdict = "do not overlap." if apart else "overlap: their order may be chance."
    return (
        f"{len(ordered)} models were compared. Most over-refusal: {sentences[0]} Least: "
        f"{sentences[1]} The intervals of these two over-refusal rates {verdict}"
    )


def told_from_zero(tests: pd.DataFrame, names: Names) -> Prose:
    """Differences that can be told from zero after Holm's correction, and what might be unseen.

    ``tests`` is :func:`aor_lib.analysis.stats.paired_differences` or
    :func:`aor_lib.analysis.stats.factor_effects`.
    """
    tests = tests.dropna(subset=["p_holm"])
    if tests.empty:
        return nothing_for("Differences that were tested")
    told = tests["p_holm"] < SIGNIFICANCE
    keys = tests.columns[: tests.columns.get_loc("trials")].drop(["factor"], errors="ignore")
    listed = "; ".join(_difference(row, list(keys), names) for _, row in tests[told].iterrows())
    text = (
        f"{told.sum()} of {len(tests)} differences can be told from zero at the 5% level after "
        f"Holm's correction{': ' if listed else ''}{listed}."
    )
    others = tests[~told]
    if len(others):
        text += (
            f" Intervals of the others reach from {points(others['low'].min())} to "
            f"{points(others['high'].max())}: an effect within them would go unseen."
        )
    return paragraph(text)


def scene_use(differences: pd.DataFrame, names: Names) -> Prose:
    """Verdict on each model's use of the scene.

    ``differences`` is :func:`aor_lib.analysis.stats.paired_differences` of over-refusal from the
    baseline ``benign_scene``, by model, at :data:`ALONE`, :data:`ELSEWHERE` and :data:`IN_NOISE`.
    """
    known = differences.dropna(subset=["difference"])
    if known.empty:
        return nothing_for("Use of the scene")
    return bullets(
        {cell_title("model", m, names): _scene_use(rows) for m, rows in known.groupby("model")}
    )


def known_effects(measured: pd.DataFrame) -> Prose:
    """Number of known effects that were recovered, and of negative controls that stay silent.

    ``measured`` is :func:`aor_lib.analysis.known_effects.measure_known_effects`.
    """
    tested = measured[measured["verdict"] != "too few"]
    if tested.empty:
        return nothing_for("Known effects")
    effects = tested[tested["known_effect"] != "nothing"]
    controls = tested[tested["known_effect"] == "nothing"]
    recovered = (effects["verdict"] == "recovered").sum()
    alarms = (controls["verdict"] == "false alarm").sum()
    return paragraph(
        f"{recovered} of {len(effects)} known effects are recovered. {len(controls) - alarms} of "
        f"{len(controls)} negative controls stay silent; at 95% each, about "
        f"{SIGNIFICANCE * len(controls):.1f} false alarms are expected by chance. "
        f"{len(measured) - len(tested)} comparisons have too few utterances to tell anything."
    )


def _scene_use(rows: pd.DataFrame) -> str:
    told = rows[rows["p_holm"] < SIGNIFICANCE]
    more = set(told.loc[told["difference"] > 0, "level"])
    if more == {ALONE, ELSEWHERE, IN_NOISE}:
        return "uses the scene: it refuses less where the scene makes the request harmless."
    if ELSEWHERE in more:
        return "uses the scene in part: it refuses more over a neutral scene, but not everywhere."
    if more:
        return "refuses more without the benign scene, but any other sound may do as well."
    if len(told):
        return "refuses less elsewhere than in the scene that makes the request harmless."
    reach = rows[["low", "high"]].abs().to_numpy().max()
    return f"shows no use of the scene; effects of up to {100 * reach:.1f} points may go unseen."


def _difference(row: pd.Series[Any], keys: list[str], names: Names) -> str:
    what = ", ".join(cell_title(key, row[key], names) for key in keys if key != "baseline")
    against = title_of(row["baseline"], names).lower()
    low, high = (signed(100 * row[limit], "+.1f") for limit in ("low", "high"))
    return f"{what} against {against} {points(row['difference'])} ({low} to {high})"
