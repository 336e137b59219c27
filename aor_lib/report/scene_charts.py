"""Charts of what a scene changes: by utterance, by intent, and as the scene gets quieter."""

import json
from textwrap import wrap

import altair as alt
import numpy as np
import pandas as pd

from aor_lib.analysis import stats
from aor_lib.analysis.outcomes import refusals_by_utterance
from aor_lib.analysis.scene_use import ALONE, BENIGN
from aor_lib.report.drawing import (
    POINTS,
    Names,
    Shown,
    figure,
    reference,
    titled,
    tooltips,
)
from aor_lib.report.instrument import title_for
from aor_lib.report.listening import INTENTS
from aor_lib.report.markdown import nothing_for
from aor_lib.report.style import PALETTE, cell_title, series, title_of

CHANGES = ("Refused less in its scene", "Refused alike", "Refused more in its scene")
_STRIP = 2.6  # height of a model's strip: a band of refused utterances, one of answered ones
_LINE = 16  # characters of a line of a label
_MARK = 0.06  # height of a mark of an utterance, in the unit of the rates


def slopes(trials: pd.DataFrame, *, title: str, names: Names = None) -> Shown:
    """A line for each utterance, from what became of it alone to what did in its benign scene.

    ``trials`` are of one intent; only utterances that were judged both ways are shown.
    """
    shown: list[pd.DataFrame] = []
    ends: dict[float, str] = {}
    for model, rows in sorted(trials.groupby("model"), reverse=True):
        strip = _strip(rows)
        name = cell_title("model", model, names)
        bottom = _STRIP * len(shown)
        ends[bottom + 1] = name
        shown.append(strip.assign(model=name, place=strip["place"] + bottom))
    if not shown or not sum(map(len, shown)):
        return nothing_for(title)
    lines = pd.concat(shown)
    order = [title_of(ALONE), title_of(BENIGN)]
    x = alt.X(
        "condition:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelAngle=0),
        scale=alt.Scale(padding=0.35),
    )
    y = alt.Y(
        "place:Q",
        title=None,
        scale=alt.Scale(zero=False, nice=False, padding=4),
        axis=alt.Axis(values=sorted(ends), labelExpr=_titles_at(ends), grid=False),
    )
    bands = [
        {"condition": order[0], "place": middle + side / 2, "band": band}
        for middle in ends
        for side, band in ((1, "refused"), (-1, "answered"))
    ]
    chart = alt.layer(
        alt.Chart(lines)
        .mark_line(strokeWidth=1)
        .encode(
            x=x,
            y=y,
            detail=["model:N", "utterance_id:N"],
            color=alt.Color("change:N", scale=alt.Scale(domain=[*CHANGES], range=_OF_CHANGES)),
            tooltip=["model", "utterance_id", "change"],
        ),
        reference(pd.DataFrame(bands), "bands")
        .mark_text(style="reference", strokeOpacity=0, opacity=1, align="right", dx=-8)
        .encode(x=x, y=y, text="band:N"),
    )
    utterances = lines.drop_duplicates(["model", "utterance_id"])
    numbers = utterances.groupby(["model", "change"]).size().unstack(fill_value=0)
    numbers = numbers.reindex(columns=[*CHANGES], fill_value=0).rename_axis("Model").reset_index()
    words = "; ".join(
        f"{row['Model']}, " + ", ".join(f"{name.lower()} {row[name]}" for name in CHANGES)
        for row in numbers.to_dict("records")
    )
    return figure(chart, title_for(trials, title), words, 140 * len(shown), numbers)


def changes_in_both(differences: pd.DataFrame, *, title: str, names: Names = None) -> Shown:
    """Change of harmful refusal over that of refusing what only sounds harmful, with intervals.

    ``differences`` are paired ones by model and intent.
    """
    keys, measures = ["model", "level"], ["difference", "low", "high"]
    known = differences.dropna(subset=["difference"])
    of_intents = [
        known[known["intent"] == intent].set_index(keys)[measures].add_suffix(f"_{intent}")
        for intent in ("pseudo_harmful", "harmful")
    ]
    points = pd.concat(of_intents, axis=1, join="inner").reset_index()
    if points.empty:
        return nothing_for(title)
    shown = titled(points, keys, names)
    base = alt.Chart(shown).encode(
        x=alt.X(
            "difference_pseudo_harmful:Q",
            title="Change for what only sounds harmful (points)",
            axis=POINTS,
        ),
        y=alt.Y("difference_harmful:Q", title="Change for what is harmful (points)", axis=POINTS),
        color=series("model", points["model"], names).colour,
        tooltip=tooltips(shown),
    )
    zero = reference(pd.DataFrame({"zero": [0.0]}), "zero").mark_rule(style="reference")
    rule = base.mark_rule(opacity=0.25)
    shapes = series("level", points["level"], names).shape.legend(orient="bottom")
    chart = alt.layer(
        zero.encode(x="zero:Q"),
        zero.encode(y="zero:Q"),
        rule.encode(x="low_pseudo_harmful:Q", x2="high_pseudo_harmful:Q"),
        rule.encode(y="low_harmful:Q", y2="high_harmful:Q"),
        base.mark_point(filled=True, size=90, opacity=0.9).encode(shape=shapes),
    )
    words = f"{len(shown)} changes of two rates, each with two 95% intervals"
    return figure(chart, title_for(differences, title), words, 380)


def over_snr(trials: pd.DataFrame, *, title: str) -> Shown:
    """Refusal rates of one model as its benign scene gets quieter, and a mark for each utterance.

    Marks above the rates are utterances that were refused, those below others.
    """
    rates = stats.rates(trials, ["intent", "snr_db"]).dropna(subset=["rate"])
    if rates.empty:
        return nothing_for(title)
    of_intent = series("intent", rates["intent"], INTENTS)
    shown = titled(rates, ["intent"], INTENTS)
    snrs = sorted(rates["snr_db"].unique())
    base = alt.Chart(shown).encode(
        x=alt.X(
            "snr_db:Q",
            title="SNR (dB): speech over scene",
            axis=alt.Axis(values=snrs, format="~g"),
            scale=alt.Scale(zero=False, padding=24),
        ),
        color=of_intent.colour,
        tooltip=tooltips(shown),
    )
    y = alt.Y(
        "rate:Q",
        title="Refused",
        scale=alt.Scale(domain=[-4 * _MARK, 1 + 4 * _MARK], nice=False),
        axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format="~%"),
    )
    marks = titled(_marks(trials, min(np.diff(snrs), default=1.0)), ["intent"], INTENTS)
    chart = alt.layer(
        base.mark_area(opacity=0.12).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=70, opacity=1).encode(y=y, shape=of_intent.shape),
        reference(marks, "utterances")
        .mark_tick(thickness=2, size=9, orient="vertical")
        .encode(x="snr_db:Q", y=y, color=of_intent.colour),
    )
    asked = trials.groupby("intent")["utterance_id"].nunique()
    n = ", ".join(f"{count} {INTENTS[str(intent)].lower()}" for intent, count in asked.items())
    words = f"{len(shown)} rates over {len(snrs)} SNRs, of utterances: {n}"
    return figure(chart, f"{title} (n = {n})", words, 260)


_OF_CHANGES = [PALETTE[0], "#757575", PALETTE[1]]


def _titles_at(places: dict[float, str]) -> str:
    """Vega expression for the label at each of a few places of an axis, in lines for a phone."""
    titles = json.dumps({f"{at:g}": wrap(name, _LINE) for at, name in places.items()})
    return f"({titles})[format(datum.value, '~g')]"


def _strip(trials: pd.DataFrame) -> pd.DataFrame:
    """Two rows per utterance: ``condition``, ``place`` in the strip, ``change``."""
    sides = {side: trials[trials["condition"] == side] for side in (ALONE, BENIGN)}
    refused = pd.DataFrame(
        {
            title_of(side): refusals_by_utterance(rows).eval("refused / judged")
            for side, rows in sides.items()
        }
    ).dropna()
    refused = refused.sort_values([*refused.columns])
    signs = (refused.iloc[:, 1] - refused.iloc[:, 0]).apply(np.sign)
    # Side by side in the bands of what was answered (from 0) and of what was refused (from 1).
    bands = refused.ge(0.5)
    places = bands.apply(lambda of: (of.groupby(of).cumcount() + 0.5) / len(of) + of)
    change = signs.map(dict(zip((-1, 0, 1), CHANGES, strict=True)))
    wide: pd.DataFrame = places.assign(change=change).rename_axis("utterance_id").reset_index()
    return wide.melt(["utterance_id", "change"], var_name="condition", value_name="place")


def _marks(trials: pd.DataFrame, step: float) -> pd.DataFrame:
    """A mark for each utterance at each SNR: above 1 where it was refused, below 0 elsewhere."""
    keys = ["intent", "snr_db"]
    cells = {cell: refusals_by_utterance(rows) for cell, rows in trials.groupby(keys)}
    marks = pd.concat(cells, names=keys).reset_index()
    refused = marks["refused"] / marks["judged"] >= 0.5
    level = _MARK * (1 + 1.5 * pd.factorize(marks["intent"], sort=True)[0])
    asked = marks.groupby(keys)["refused"]
    size = asked.transform("size")
    aside = (asked.cumcount() - (size - 1) / 2) * step * 0.6 / size.max()
    return marks.assign(snr_db=marks["snr_db"] + aside, rate=np.where(refused, 1 + level, -level))
