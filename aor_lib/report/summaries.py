"""Results of tests in plain sentences, which say no more than the intervals allow.

Frames are those of :mod:`aor_lib.analysis.stats`; ``names`` are the titles of ids
(:func:`aor_lib.report.style.titles`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from aor_lib.analysis.scene_use import scene_use as verdict_on_scene
from aor_lib.analysis.stats import SIGNIFICANCE
from aor_lib.report import instrument
from aor_lib.report.detection_charts import pairs
from aor_lib.report.figures import estimate, points, signed
from aor_lib.report.markdown import Prose, bullets, nothing_for, paragraph
from aor_lib.report.style import cell_title, title_of

Names = Mapping[str, str]

_SCENE_USE = {
    "uses it": "uses the scene: it refuses less in the benign scene than over a neutral one, over "
    "noise and alone.",
    "in part": "refuses more over a neutral scene than in the benign one, but is not shown to in "
    "all three comparisons, so it cannot be said to use the scene.",
    "any scene": "refuses more alone or over noise than in the benign scene, but is not shown to "
    "refuse more over a neutral scene: any scene may do as well.",
    "refuses less elsewhere": "refuses less elsewhere than in the scene that makes the request "
    "harmless.",
    "cannot tell": "cannot be judged: this build has too few utterances for these tests.",
}


def finding(rates: pd.DataFrame, measured: pd.DataFrame, names: Names) -> str:
    """The first page's sentences: both rates of each model, or what was recovered.

    ``rates`` is :func:`aor_lib.analysis.stats.rates` by model and intent. Where all models are
    reference models, ``measured`` (:func:`aor_lib.analysis.known_effects.measure_known_effects`) is
    what there is to say. Which model is better is for tests to say.
    """
    if instrument.is_check(rates["model"]):
        return f"{instrument.NOTE} {_recovered(measured, names)}"
    both = pairs(rates).dropna()
    if both.empty:
        return "This build has no pair of rates to weigh against each other."
    return " ".join(
        f"{names.get(row['model'], row['model'])} refused {estimate(row, 'orr')} of the requests "
        f"that only sound harmful, and {estimate(row, 'hrr')} of those that are."
        for _, row in both.iterrows()
    )


def asked_on(trials: pd.DataFrame, headline: pd.DataFrame, arm: str, names: Names) -> Prose:
    """Number of utterances that rates are of, beside those of the headline rates.

    Where they are fewer, the same model has another rate here than in the results. Arms, the values
    of the column ``arm``, that were tried on fewer than the others are named.
    """
    counts = _sounding(trials).groupby(arm)["utterance_id"].nunique()
    if counts.empty:
        return nothing_for("Utterances that were asked")
    most, whole = counts.max(), _sounding(headline)["utterance_id"].nunique()
    said = f"Rates of this chapter are of the {most} utterances that only sound harmful"
    if most == whole:
        said += " on which the results rest, too."
    else:
        said += (
            f" and were asked again, out of {whole} on which the results rest: a model that "
            "nothing was done to may have another rate there."
        )
    fewer = [f"{cell_title(arm, one, names)} ({n})" for one, n in counts.items() if n < most]
    return paragraph(f"{said} Fewer were asked under: {', '.join(fewer)}." if fewer else said)


def _sounding(trials: pd.DataFrame) -> pd.DataFrame:
    return trials[trials["intent"] == "pseudo_harmful"]


def told_from_zero(tests: pd.DataFrame, names: Names) -> Prose:
    """Differences that can be told from zero after Holm's correction, and what might be unseen.

    ``tests`` is :func:`aor_lib.analysis.stats.paired_differences`.
    """
    compared = tests.dropna(subset=["difference"])
    if compared.empty:
        return nothing_for("Differences that were tested")
    tested = compared.dropna(subset=["p_holm"])
    sentences = []
    if few := len(compared) - len(tested):
        sentences.append(
            f"{few} of {len(compared)} differences rest on so few utterances that this build "
            "cannot tell them from zero by its test, whatever the answers and their intervals."
        )
    told = tested["p_holm"] < SIGNIFICANCE
    if len(tested):
        keys = list(tests.columns[: tests.columns.get_loc("trials")])
        listed = "; ".join(_difference(row, keys, names) for _, row in tested[told].iterrows())
        sentences.append(
            f"{told.sum()} of {len(tested)} differences tested can be told from zero at the 5% "
            f"level after Holm's correction{': ' if listed else ''}{listed}."
        )
    if len(others := tested[~told]):
        sentences.append(
            f"Intervals of the others reach from {points(others['low'].min())} to "
            f"{points(others['high'].max())}: an effect within them may go unseen."
        )
    return paragraph(" ".join(sentences))


def scene_use(differences: pd.DataFrame, names: Names) -> Prose:
    """Verdict on each model's use of the scene, as :func:`aor_lib.analysis.scene_use.scene_use`.

    ``differences`` is :func:`aor_lib.analysis.scene_use.from_benign_scene`.
    """
    known = differences.dropna(subset=["difference"])
    if known.empty:
        return nothing_for("Use of the scene")
    return bullets(
        {cell_title("model", m, names): use_of_scene(rows) for m, rows in known.groupby("model")}
    )


def use_of_scene(rows: pd.DataFrame) -> str:
    """Verdict on one model's rows of those differences, to go on after its name."""
    verdict = verdict_on_scene(rows)
    if verdict != "none shown":
        return _SCENE_USE[verdict]
    reach = rows[["low", "high"]].abs().to_numpy().max()
    return f"shows no use of the scene; effects of up to {100 * reach:.1f} points may go unseen."


def known_effects(measured: pd.DataFrame, names: Names) -> Prose:
    """Number of known effects that were recovered and of those where none was planted, with names.

    ``measured`` is :func:`aor_lib.analysis.known_effects.measure_known_effects`.
    """
    return paragraph(_recovered(measured, names))


def _recovered(measured: pd.DataFrame, names: Names) -> str:
    tested = measured[measured["verdict"] != "too few"]
    if tested.empty:
        return (
            f"This build cannot tell: all {len(measured)} comparisons rest on too few utterances."
        )
    planted = tested["known_effect"] != "nothing"
    recovered, unexpected = (
        tested["verdict"].eq(name).sum() for name in ("recovered", "unexpected")
    )
    return (
        f"{recovered} of {planted.sum()} known effects with enough utterances to test are "
        f"recovered{_named(tested, 'not recovered', ', and not: ', names)}. "
        f"{unexpected} of {(~planted).sum()} comparisons where nothing was planted can be told "
        f"from zero all the same{_named(tested, 'unexpected', ': ', names)}. "
        f"{len(measured) - len(tested)} comparisons rest on too few utterances to tell anything."
    )


def _named(measured: pd.DataFrame, verdict: str, lead: str, names: Names) -> str:
    """The comparisons of a verdict by name, after ``lead``; nothing where there are none."""
    some = measured[measured["verdict"] == verdict]
    named = [
        f"{cell_title('model', row['model'], names)}, "
        f"{cell_title('comparison', row['comparison'], names)}"
        for _, row in some.iterrows()
    ]
    return lead + "; ".join(named) if named else ""


def _difference(row: pd.Series[Any], keys: list[str], names: Names) -> str:
    what = ", ".join(cell_title(key, row[key], names) for key in keys if key != "baseline")
    against = title_of(row["baseline"], names).lower()
    low, high = (signed(100 * row[limit], "+.1f") for limit in ("low", "high"))
    return f"{what} against {against} {points(row['difference'])} ({low} to {high})"
