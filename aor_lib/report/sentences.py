"""Sentences that report estimates, their intervals and the results of their tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from aor_lib.analysis.known_effects import scene_use
from aor_lib.analysis.stats.paired import SIGNIFICANCE
from aor_lib.report.display import Prose, bullets, nothing_for, paragraph
from aor_lib.report.estimates import TRADE_OFF, Estimates
from aor_lib.report.measures import interval, measure_of, sample_size, shown
from aor_lib.report.style import cell_title, in_words, title_of

_LISTED = 2  # estimates; of more, the lowest and the highest are named
_SCENE_LEVELS = {"speech_only", "neutral_scene", "noise"}
_SCENE_USE = {
    "uses the scene": "uses the scene: it refuses significantly more in all three controls.",
    "in part": "refuses significantly more over a neutral scene, but not in all three controls.",
    "not shown": "does not refuse significantly more over a neutral scene, "
    "so it does not meet the criterion for using the scene.",
    "too few": "answered too few utterances for this test.",
}


def sentences(estimates: Estimates) -> Prose:
    """Sentences about estimates: see :meth:`aor_lib.report.estimates.Estimates.sentences`."""
    rates = [of for of in TRADE_OFF if of in estimates.frame.dropna(axis=1, how="all")]
    known = estimates.frame.dropna(subset=rates or [estimates.measure], how="all")
    if known.empty:
        return nothing_for(estimates.about or measure_of(estimates.measure).about)
    if {"known_effect", "verdict"} <= set(known):
        return paragraph(_with_basis(estimates, _known_effects(estimates)))
    if "p_holm" not in known:
        texts = []
        for measure in rates or [estimates.measure]:
            texts += [f"{measure_of(measure).heading}:"] if rates else []
            of_rate = replace(estimates, measure=measure), known.dropna(subset=[measure])
            texts.append(bullets(_ranges(*of_rate)).markdown)
        return Prose("\n\n".join(texts))
    summary, details = _summary(estimates, known), bullets(_details(estimates, known))
    parts = (paragraph(_with_basis(estimates, summary)), details)
    return Prose("\n\n".join(text.markdown for text in parts if text.markdown))


def _with_basis(estimates: Estimates, text: str) -> str:
    if not (estimates.basis and text and estimates.frame["p_holm"].notna().any()):
        return text
    basis = estimates.basis.replace("as judged", "computed from the judge's uncorrected labels")
    return f"{text} These figures are {basis}."


def _summary(estimates: Estimates, known: pd.DataFrame) -> str:
    tested = known.dropna(subset=["p_holm"])
    significant, texts, noun = tested["p_holm"] < SIGNIFICANCE, [], "differences"
    if known.get("baseline", pd.Series()).nunique() == 1:
        noun += f" (baseline: {title_of(known['baseline'].iloc[0], estimates.titles)})"
    if len(tested) == 1:
        verb = "is" if significant.all() else "is not"
        only = noun.replace("differences", "difference", 1)
        texts.append(f"The only tested {only} {verb} significant after Holm adjustment.")
    elif len(tested):
        texts.append(
            f"{significant.sum() or 'None'} of the {len(tested)} tested {noun} "
            f"{'are' if significant.sum() > 1 else 'is'} significant after Holm adjustment."
        )
    if len(others := tested[~significant]):
        low = shown(estimates.measure, others["low"].min())
        high = shown(estimates.measure, others["high"].max(), unit=True)
        if len(others) == 1:
            text = f"interval of the non-significant difference is {low} to {high}."
        else:
            text = f"intervals of non-significant differences lie between {low} and {high}."
        texts.append(f"The 95% {text}")
    if withheld := tested["withheld"].sum():
        texts.append(
            f"{withheld} more would be significant, but missing answers could change that."
        )
    if len(tested) < len(known):
        few = len(known) - len(tested) if len(tested) else "any"
        reason = "because there were too few utterances with judged answers"
        texts.append(f"We did not test {few} of the {len(known)} differences, {reason}.")
    return " ".join(texts)


def _details(estimates: Estimates, known: pd.DataFrame) -> dict[str, str]:
    first, *rest = estimates.keys
    texts = {}
    one_baseline = known.get("baseline", pd.Series()).nunique() == 1
    keys = [key for key in rest if key != "baseline" or not one_baseline]
    for value, rows in known.groupby(first, sort=False):
        significant = rows[rows["p_holm"] < SIGNIFICANCE]
        names = _listed(estimates, significant, keys)
        verb = "difference in refusal is" if len(significant) == 1 else "differences in refusal are"
        listed = [f"The significant {verb} {names}."] if len(significant) else []
        in_scene = rest == ["level", "baseline"] and set(rows["baseline"]) == {"benign_scene"}
        if in_scene and set(rows.get("intent", ())) == {"pseudo_harmful"}:
            heard = rows[rows["level"].isin(_SCENE_LEVELS)]
            if set(heard["level"]) == _SCENE_LEVELS:
                listed.append(f"The model {_SCENE_USE[scene_use(heard)]}")
        if listed:
            texts[cell_title(first, value, estimates.titles)] = " ".join(listed)
    return texts


def _known_effects(estimates: Estimates) -> str:
    verdicts = estimates.frame["verdict"]
    tested = estimates.frame[~verdicts.isin(["too few", "withheld"])]
    if tested.empty and "withheld" not in set(verdicts):
        return "No planted effect could be tested: every comparison has too few utterances."
    is_planted = tested["known_effect"] != "nothing"
    planted, others = tested[is_planted], tested[~is_planted]
    missed = planted[planted["verdict"] != "recovered"]
    unexpected = others[others["verdict"] == "unexpected"]
    keys = [key for key in estimates.keys if key not in ("known_effect", "verdict")]
    names, alarms = (_listed(estimates, rows, keys) for rows in (missed, unexpected))
    few, withheld = verdicts.eq("too few").sum(), verdicts.eq("withheld").sum()
    count = f"{len(planted) - len(missed)} of the" if names else "all"
    of = f"{len(planted)} planted effects{' tested' * bool(few + withheld)}"
    silent = (
        f"{len(unexpected) or 'None'} of the {len(others)} comparisons without a planted effect "
        f"{'are' if len(unexpected) > 1 else 'is'}"
    )
    texts = [
        len(planted) and f"We recovered {count} {of}.",
        names and f"Missed: {names}.",
        len(others) and f"{silent} significant after Holm adjustment{': ' * bool(alarms)}{alarms}.",
        withheld and f"Verdicts withheld, as missing answers could change them: {withheld}.",
        few and f"Comparisons not tested, as they have too few utterances: {few}.",
    ]
    return " ".join(map(str, filter(None, texts)))


def _ranges(estimates: Estimates, known: pd.DataFrame) -> dict[str, str]:
    first, *others = estimates.keys
    rest, texts = [key for key in others if "against" in others or known[key].nunique() > 1], {}
    for value, rows in known.groupby(first, sort=False):
        if is_range := len(rows) > _LISTED:
            rows = rows.sort_values(estimates.measure).iloc[[0, -1]]
        values = [
            _estimate(estimates, row, in_words(row, rest, estimates.titles))
            for row in rows.to_dict("records")
        ]
        text = f"from {values[0]} to {values[1]}" if is_range else "; ".join(values)
        texts[cell_title(first, value, estimates.titles)] = f"{text}."
    return texts


def _listed(estimates: Estimates, rows: pd.DataFrame, keys: Iterable[str]) -> str:
    return "; ".join(
        f"{in_words(row, keys, estimates.titles)}, {_estimate(estimates, row)}"
        for row in rows.to_dict("records")
    )


def _estimate(estimates: Estimates, row: Mapping[Any, Any], of: str = "") -> str:
    reach, size = interval(estimates.measure, row), sample_size(row)
    by_people = row.get("labelled") and f"corrected using {row['labelled']} human labels"
    details = [of, reach and f"95% interval {reach}", size and f"n = {size}", by_people]
    value = shown(estimates.measure, row[estimates.measure], unit=True)
    return f"{estimates.linked(value, row)} ({', '.join(map(str, filter(None, details)))})"
