"""The study's charts, in one house style.

Each function takes a frame of :mod:`aor_lib.stats` and returns an Altair chart as wide as its
container; :func:`aor_lib.figures.show` makes it a figure for notebooks and for the book.
Intervals are always drawn. Rates are fractions in the data and percent on the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

from aor_lib.figures import is_share
from aor_lib.style import PALETTE, TITLES, model_style, title_of

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

_PERCENT = alt.Axis(format="~%", grid=True)


def rate_points(
    rates: pd.DataFrame, y: str, *, axis: str, names: Mapping[str, str] | None = None
) -> Chart:
    """Each model's ``rate`` and its interval, for each value of column ``y``.

    ``rates`` is :func:`aor_lib.stats.rates` by model and ``y``; what has no judged answer is left
    out. ``names`` gives the values of ``y`` titles.
    """
    frame = rates.dropna(subset=["rate"])
    return _intervals(frame, y, "rate", _unit_scale(frame["high"]), axis, names)


def difference_points(
    differences: pd.DataFrame, *, axis: str, names: Mapping[str, str] | None = None
) -> Chart:
    """Each model's paired ``difference`` and its interval, for each ``level``; zero is marked.

    ``differences`` is :func:`aor_lib.stats.paired_differences` by model.
    """
    frame = differences.dropna(subset=["difference"])
    reach = frame[["low", "high"]].abs().to_numpy(dtype=float)
    limit = max(0.05, float(reach.max(initial=0.0)))
    scale = alt.Scale(domain=[-limit, limit], nice=True)
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(style="reference").encode(x="zero:Q")
    return _intervals(frame, "level", "difference", scale, axis, names, zero)


def tradeoff(rates: pd.DataFrame, *, shape: str = "model") -> Chart:
    """Harmful-refusal rate over over-refusal rate, with both intervals.

    ``rates`` is by model and intent, and by ``shape`` where a model has several points (as for
    mitigations). Upper left is where a model should be; on the dashed diagonal it refuses what
    only sounds harmful as often as what is harmful.
    """
    frame = pairs(rates)
    unit = alt.Scale(domain=[0, 1])
    across, up = "Over-refusal rate (lower is better)", "Harmful-refusal rate (higher is better)"
    base = alt.Chart(frame.assign(shape=frame[shape].map(title_of))).encode(
        x=alt.X("orr:Q", title=across, scale=unit, axis=_PERCENT),
        y=alt.Y("hrr:Q", title=up, scale=unit, axis=_PERCENT),
        color=_model_colour(frame["model"]),
        tooltip=_tooltips(frame),
    )
    points = base.mark_point(filled=True, size=110, opacity=0.8)
    marker = _model_shape(frame["model"])
    if shape != "model":
        marker = alt.Shape("shape:N", legend=alt.Legend(orient="bottom"))
    diagonal = alt.Chart(pd.DataFrame({"orr": [0.0, 1.0], "hrr": [0.0, 1.0]}))
    return alt.layer(
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(x=alt.X("orr_low:Q"), x2="orr_high:Q"),
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(y=alt.Y("hrr_low:Q"), y2="hrr_high:Q"),
        points.encode(shape=marker),
        diagonal.mark_line(style="reference", strokeDash=[4, 4], strokeWidth=1).encode(
            x="orr:Q", y="hrr:Q"
        ),
    ).properties(width="container", height=320)


def pairs(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates by model and intent as one row a point: ``orr``, ``hrr``, their ``_low``, ``_high``.

    A point of which one rate is missing (nothing was judged) is left out.
    """
    keys = [key for key in ("model", "mitigation") if key in rates]
    measures = {"orr": "pseudo_harmful", "hrr": "harmful"}
    columns = []
    for measure, intent in measures.items():
        rows = rates[rates["intent"] == intent].set_index(keys)[["rate", "low", "high"]]
        columns.append(rows.set_axis([measure, f"{measure}_low", f"{measure}_high"], axis=1))
    return pd.concat(columns, axis=1).dropna().reset_index()


def curve(rates: pd.DataFrame, x: str, *, title: str, axis: str) -> Chart:
    """Each model's ``rate`` over a numeric column ``x``, with the interval at every point."""
    frame = rates.dropna(subset=["rate"])
    ticks = alt.Axis(values=sorted(frame[x].unique()))
    base = alt.Chart(frame).encode(
        x=alt.X(f"{x}:Q", title=title, axis=ticks, scale=alt.Scale(zero=False, padding=12)),
        color=_model_colour(frame["model"]),
        tooltip=_tooltips(frame),
    )
    scale = _unit_scale(frame["high"])
    y = alt.Y("rate:Q", title=axis, scale=scale, axis=_PERCENT)
    return alt.layer(
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            y=y, shape=_model_shape(frame["model"])
        ),
    ).properties(width="container", height=260)


def histogram(values: pd.Series[Any], *, axis: str, count: str, bins: int = 24) -> Chart:
    """Distribution of ``values``, binned here so that a page carries only the counts."""
    counts, edges = np.histogram(values.dropna().to_numpy(dtype=float), bins=bins)
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "count": counts})
    chart: Chart = (
        alt.Chart(frame)
        .mark_bar(color=PALETTE[0], binSpacing=1)
        .encode(
            x=alt.X("from:Q", bin="binned", title=axis, axis=alt.Axis(format="~g")),
            x2="to:Q",
            y=alt.Y("count:Q", title=count, axis=alt.Axis(grid=True)),
            tooltip=_tooltips(frame),
        )
        .properties(width="container", height=180)
    )
    return chart


def bars(
    counts: pd.DataFrame,
    y: str,
    colour: str,
    *,
    axis: str,
    order: Sequence[str],
    colours: Sequence[str] = PALETTE,
    names: Mapping[str, str] | None = None,
) -> Chart:
    """Stacked bars of column ``count`` for each value of ``y``, by ``colour`` in ``order``."""
    rows = _rows(counts[y], names)
    titles = [title_of(value, names) for value in order]
    frame = pd.DataFrame(
        {
            y: [title_of(value, names) for value in counts[y]],
            colour: [title_of(value, names) for value in counts[colour]],
            "count": counts["count"],
            "order": [list(order).index(value) for value in counts[colour]],
        }
    )
    scale = alt.Scale(domain=titles, range=list(colours[: len(titles)]))
    chart: Chart = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title=axis),
            y=alt.Y(f"{y}:N", title=None, sort=rows),
            color=alt.Color(f"{colour}:N", scale=scale),
            order="order:Q",
            tooltip=[y, colour, "count"],
        )
        .properties(width="container", height=32 * len(rows))
    )
    return chart


def confusion(counts: pd.DataFrame, row: str, column: str, order: Sequence[str]) -> Chart:
    """How often each ``column`` was taken for each ``row``, as shares of the row.

    ``counts`` has one row a pair with its ``count``; both axes are in the ``order`` given, with
    what it does not name at the end.
    """
    frame = counts.assign(share=counts["count"] / counts.groupby(row)["count"].transform("sum"))
    found = [*frame[row].unique(), *frame[column].unique()]
    ordered = [name for name in order if name in found]
    ordered += sorted(set(found) - set(ordered))
    axis = alt.Axis(labelExpr="replace(datum.label, /_/g, ' ')", labelOverlap=False, labelLimit=140)
    chart: alt.Chart = (
        alt.Chart(frame, width="container")
        .mark_rect()
        .encode(
            x=alt.X(f"{column}:N", sort=ordered, axis=axis, title="Heard"),
            y=alt.Y(f"{row}:N", sort=ordered, axis=axis, title="Played"),
            color=alt.Color("share:Q", scale=alt.Scale(domain=[0, 1]), title="Share of row"),
            tooltip=[row, column, "count", alt.Tooltip("share", format=".0%")],
        )
    )
    return chart


def _intervals(
    frame: pd.DataFrame,
    y: str,
    x: str,
    scale: alt.Scale,
    axis: str,
    names: Mapping[str, str] | None,
    *under: alt.Chart,
) -> Chart:
    """A row for each value of ``y``, with a rule and a point for each model, over ``under``."""
    rows = _rows(frame[y], names)
    frame = frame.assign(**{y: [title_of(value, names) for value in frame[y]]})
    base = alt.Chart(frame).encode(
        y=alt.Y(f"{y}:N", title=None, sort=rows),
        yOffset=alt.YOffset("model:N"),
        color=_model_colour(frame["model"]),
        tooltip=_tooltips(frame),
    )
    height = len(rows) * max(28, 16 * frame["model"].nunique() + 8)
    return alt.layer(
        *under,
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            x=alt.X("low:Q", title=axis), x2="high:Q"
        ),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            x=alt.X(f"{x}:Q", title=axis, scale=scale, axis=_PERCENT),
            shape=_model_shape(frame["model"]),
        ),
    ).properties(width="container", height=height)


def _rows(values: Iterable[Any], names: Mapping[str, str] | None) -> list[str]:
    """Titles of the distinct values: those of :data:`TITLES` in its order, others as they come."""
    known = list(TITLES)
    distinct = dict.fromkeys(values)
    ordered = sorted(distinct, key=lambda v: known.index(v) if v in known else len(known))
    return [title_of(value, names) for value in ordered]


def _unit_scale(highs: pd.Series[Any]) -> alt.Scale:
    """From zero to the highest interval, at least 10 %: small rates must not look large."""
    top = min(1.0, max([0.1, *highs.dropna()]))
    return alt.Scale(domain=[0, top], nice=True)


def _model_colour(models: Iterable[str]) -> alt.Color:
    domain = sorted(set(models))
    colours = [model_style(model)[0] for model in domain]
    return alt.Color("model:N", scale=alt.Scale(domain=domain, range=colours))


def _model_shape(models: Iterable[str]) -> alt.Shape:
    domain = sorted(set(models))
    shapes = [model_style(model)[1] for model in domain]
    return alt.Shape("model:N", scale=alt.Scale(domain=domain, range=shapes))


def _tooltips(frame: pd.DataFrame) -> list[alt.Tooltip]:
    """One line a column; shares in percent."""
    numeric = frame.select_dtypes("number").columns
    return [
        alt.Tooltip(
            name,
            type="quantitative" if name in numeric else "nominal",
            format=".1%" if is_share(name) else ".4~g" if name in numeric else alt.Undefined,
        )
        for name in map(str, frame.columns)
    ]
