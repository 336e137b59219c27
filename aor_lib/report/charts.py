"""The study's charts, in one house style.

Each function takes a data frame and returns a :class:`aor_lib.report.figures.Figure`, with a
description computed from the frame, or a note where there is nothing to draw. Intervals are always
drawn. Rates are fractions in the data and percent on the page. ``names`` are the titles of ids
(:func:`aor_lib.report.style.titles`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from aor_lib.report import result_tables
from aor_lib.report.drawing import (
    PERCENT,
    POINTS,
    UNIT,
    WIDE,
    Names,
    Shown,
    dashed_line,
    figure,
    reference,
    titled,
    tooltips,
)
from aor_lib.report.figures import in_words, is_share
from aor_lib.report.instrument import title_for
from aor_lib.report.markdown import nothing_for
from aor_lib.report.style import cell_title, ordered, series, title_of

MEASURES = ("difference", "kappa", "d_prime", "rate")
_BINS = 24


def forest(
    frame: pd.DataFrame,
    rows: str | Sequence[str],
    *,
    title: str,
    axis: str,
    colour: str = "model",
    names: Names = None,
) -> Shown:
    """Forest plot: estimates with their intervals, by row and, within a row, by colour.

    Parameters
    ----------
    frame
        One row per estimate: a ``difference``, ``kappa``, ``d_prime`` or ``rate`` with ``low`` and
        ``high``, such as :func:`aor_lib.analysis.stats.rates`. Rows without one are not drawn.
    rows
        Column, or columns, whose values name the rows.
    axis
        Title of the axis of estimates.
    """
    measure = next(name for name in MEASURES if name in frame)
    keys = [rows] if isinstance(rows, str) else list(rows)
    frame = frame.dropna(subset=[measure])
    if frame.empty:
        return nothing_for(title)
    frame = frame.sort_values(keys, key=lambda column: column.map(ordered(column, names).index))
    shown = titled(frame, {*keys, colour}, names)
    shown["row"] = shown[keys].agg(", ".join, axis=1)
    low, high = "low", "high"
    if not is_share(measure):  # such bounds are no shares, and must not be shown as such
        low, high = f"{measure}_low", f"{measure}_high"
        shown = shown.rename(columns={"low": low, "high": high})
    of_colour = series(colour, frame[colour], names)
    base = alt.Chart(shown).encode(
        y=alt.Y("row:N", title=None, sort=list(dict.fromkeys(shown["row"])), axis=WIDE),
        yOffset=alt.YOffset(f"{colour}:N", sort=of_colour.titles),
        color=of_colour.colour,
        tooltip=tooltips(shown),
    )
    scale, ticks, under = _axis_of(measure, shown[[low, high]])
    height = shown["row"].nunique() * max(28, 16 * frame[colour].nunique() + 8)
    chart = alt.layer(
        *under,
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(x=alt.X(f"{low}:Q", title=axis), x2=high),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            x=alt.X(f"{measure}:Q", title=axis, scale=scale, axis=ticks),
            shape=of_colour.shape,
        ),
    )
    words = f"{len(shown)} estimates with 95% intervals, {_range(shown, measure)}"
    numbers = result_tables.rows(frame, names) if {"trials", "judged"} <= set(frame) else None
    return figure(chart, title_for(frame, title), words, height, numbers)


def dose_response(
    frame: pd.DataFrame,
    x: str,
    *,
    title: str,
    axis: str,
    x_axis: str | None = None,
    colour: str = "model",
    dash: str | None = None,
    dashed: pd.DataFrame | None = None,
    names: Names = None,
) -> Shown:
    """Column ``rate`` over a numeric column ``x``, with its interval where there is one.

    Parameters
    ----------
    colour
        Column with a line for each value.
    dash
        Column that tells several lines of one colour apart.
    dashed
        Ends of a line to compare with, in the columns ``x`` and ``rate``.
    """
    frame = frame.dropna(subset=["rate", x])
    if frame.empty:
        return nothing_for(title)
    keys = [colour] if dash is None else [colour, dash]
    x_axis = x_axis or title_of(x)
    shown = titled(frame, keys, names)
    of_colour = series(colour, frame[colour], names)
    ticks, scale = PERCENT, UNIT
    if not is_share(x):
        ticks = alt.Axis(values=sorted(set(frame[x])), format="~g")
        scale = alt.Scale(zero=False, padding=12)
    base = alt.Chart(shown).encode(
        x=alt.X(f"{x}:Q", title=x_axis, axis=ticks, scale=scale),
        color=of_colour.colour,
        detail=keys,
        tooltip=tooltips(shown),
    )
    lines, dots = base, base.encode(shape=of_colour.shape)
    if dash:
        lines, dots = base.encode(strokeDash=_dashes(dash, frame[dash], names)), base
    y = alt.Y(
        "rate:Q", title=axis, scale=_unit_scale(frame.get("high", frame["rate"])), axis=PERCENT
    )
    layers: list[alt.Chart] = [
        lines.mark_line(strokeWidth=2).encode(y=y),
        dots.mark_point(filled=True, size=70, opacity=1).encode(y=y),
    ]
    if "low" in frame:
        layers.insert(0, base.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q"))
    if dashed is not None:
        layers.insert(0, dashed_line(dashed, x, "rate"))
    words = f"{len(shown)} rates over {x_axis}, {_range(shown, 'rate')}"
    return figure(alt.layer(*layers), title_for(frame, title), words, 280)


def histogram(
    frame: pd.DataFrame,
    column: str,
    *,
    title: str,
    axis: str,
    by: str | None = None,
    names: Names = None,
) -> Shown:
    """Distribution of a column, in shares of all rows or of those of each value of ``by``.

    It is binned here, so that a page carries only the shares.
    """
    frame = frame.dropna(subset=[column])
    if frame.empty:
        return nothing_for(title)
    groups = frame[by] if by else pd.Series("all", index=frame.index, name="rows")
    edges = np.histogram_bin_edges(frame[column].to_numpy(float), _BINS)
    parts = []
    for group in ordered(groups, names):
        values = frame.loc[groups == group, column].to_numpy(float)
        counts = np.histogram(values, edges)[0]
        part = {"from": edges[:-1], "to": edges[1:], "rate": counts / len(values), "count": counts}
        parts.append(pd.DataFrame(part).assign(**{str(groups.name): group}))
    shown = titled(pd.concat(parts), [str(groups.name)], names)
    colour = series(str(groups.name), groups, names).colour
    chart = (
        alt.Chart(shown)
        .mark_bar(binSpacing=1, opacity=0.6)
        .encode(
            x=alt.X("from:Q", bin="binned", title=axis, axis=alt.Axis(format="~r")),
            x2="to:Q",
            y=alt.Y("rate:Q", title="Share", stack=None, axis=PERCENT),
            color=colour if by else colour.legend(None),
            tooltip=tooltips(shown),
        )
    )
    medians = frame[column].groupby(groups).median().round(3)
    words = "; ".join(
        f"{cell_title('', name, names).lower()} {value:g}" for name, value in medians.items()
    )
    return figure(chart, title, f"{len(frame)} values; medians: {words}", 190)


def bars(
    frame: pd.DataFrame,
    rows: str | Sequence[str],
    colour: str,
    *,
    title: str,
    axis: str,
    names: Names = None,
) -> Shown:
    """Stacked bars that count the rows of a frame, a bar for each value of ``rows``.

    ``rows`` is a column, or columns; ``colour`` the column whose values are the parts of a bar.
    """
    keys = [rows] if isinstance(rows, str) else list(rows)
    counts = frame.groupby([*keys, colour], observed=True).size().reset_index(name="count")
    if counts.empty:
        return nothing_for(title)
    counts = counts.sort_values(keys, key=lambda column: column.map(ordered(column, names).index))
    places = ordered(counts[colour], names)
    shown = titled(counts, [*keys, colour], names)
    shown["order"] = counts[colour].map(places.index)
    shown["row"] = shown[keys].agg(", ".join, axis=1)
    order = list(dict.fromkeys(shown["row"]))
    chart = (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title=axis),
            y=alt.Y("row:N", title=None, sort=order, axis=WIDE),
            color=series(colour, counts[colour], names).colour,
            order="order:Q",
            tooltip=[*keys, colour, "count"],
        )
    )
    totals = shown.groupby(colour, sort=False)["count"].sum()
    words = ", ".join(f"{name} {total}" for name, total in totals.items())
    return figure(
        chart, title_for(frame, title), f"{axis} in {len(order)} bars: {words}", 32 * len(order)
    )


_DASHES = ([1, 0], [4, 4], [1, 3], [8, 3])


def _dashes(column: str, ids: pd.Series[str], names: Names) -> alt.StrokeDash:
    titles = series(column, ids, names).titles
    scale = alt.Scale(domain=titles, range=[*_DASHES[: len(titles)]])
    legend = alt.Legend(orient="bottom", symbolType="stroke", symbolSize=900, symbolStrokeWidth=2)
    return alt.StrokeDash(f"{column}:N", scale=scale, legend=legend)


def _axis_of(measure: str, bounds: pd.DataFrame) -> tuple[alt.Scale, alt.Axis, list[alt.Chart]]:
    """Scale and axis of a forest plot, and what is drawn under it."""
    low, high = float(bounds.min().min()), float(bounds.max().max())
    if measure == "rate":
        return _unit_scale(bounds.iloc[:, 1]), PERCENT, []
    if measure == "kappa":
        return alt.Scale(domain=[min(0.0, low), 1], nice=True), alt.Axis(grid=True), []
    zero = reference(pd.DataFrame({"zero": [0.0]}), "zero").mark_rule(style="reference")
    if measure == "d_prime":
        domain = [min(-0.5, low), max(1.0, high)]
        return alt.Scale(domain=domain, nice=True), alt.Axis(grid=True), [zero.encode(x="zero:Q")]
    limit = max(0.05, -low, high)
    return alt.Scale(domain=[-limit, limit], nice=True), POINTS, [zero.encode(x="zero:Q")]


def _unit_scale(highs: pd.Series[Any]) -> alt.Scale:
    """From zero to the highest interval, at least 10 %: small rates must not look large."""
    return alt.Scale(domain=[0, min(1.0, max([0.1, *highs.dropna()]))], nice=True)


def _range(shown: pd.DataFrame, measure: str) -> str:
    """Range of a measure; which model has the largest is for tests to say."""
    low, high = (in_words(measure, end) for end in shown[measure].agg(["min", "max"]))
    return f"from {low} to {high}"
