"""The study's charts, in one house style.

Each function takes a frame of :mod:`aor_lib.analysis.stats` and returns an Altair chart as wide as
its container; :func:`aor_lib.report.figures.show` makes it a figure for notebooks and for the book.
Intervals are always drawn. Rates are fractions in the data and percent on the page. ``names`` are
the titles of models (:func:`aor_lib.analysis.results.model_titles`) and of other ids; a model
without one is called by its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

from aor_lib.report.figures import is_share
from aor_lib.report.style import PALETTE, TITLES, model_style, title_of

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

PERCENT = alt.Axis(format="~%", grid=True)
_SIGNED = "format(100 * datum.value, datum.value ? '+.3~g' : 'd')"
_POINTS = alt.Axis(labelExpr=_SIGNED, labelSeparation=8, grid=True)


def rate_points(
    rates: pd.DataFrame, y: str, *, axis: str, names: Mapping[str, str] | None = None
) -> Chart:
    """Each model's ``rate`` and its interval, for each value of column ``y``.

    ``rates`` is :func:`aor_lib.analysis.stats.rates` by model and ``y``; what has no judged answer
    is left out.
    """
    frame = rates.dropna(subset=["rate"])
    return _intervals(frame, y, "rate", _unit_scale(frame["high"]), axis, names)


def difference_points(
    differences: pd.DataFrame, *, axis: str, names: Mapping[str, str] | None = None
) -> Chart:
    """Each model's paired ``difference`` and its interval, for each ``level``; zero is marked.

    ``differences`` is :func:`aor_lib.analysis.stats.paired_differences` by model.
    """
    frame = differences.dropna(subset=["difference"])
    reach = frame[["low", "high"]].abs().to_numpy(dtype=float)
    limit = max(0.05, float(reach.max(initial=0.0)))
    scale = alt.Scale(domain=[-limit, limit], nice=True)
    zero = reference(pd.DataFrame({"zero": [0.0]}), "zero")
    line = zero.mark_rule(style="reference").encode(x="zero:Q")
    return _intervals(frame, "level", "difference", scale, axis, names, line)


def curve(
    rates: pd.DataFrame,
    x: str,
    *,
    title: str,
    axis: str,
    names: Mapping[str, str] | None = None,
) -> Chart:
    """Each model's ``rate`` over a numeric column ``x``, with the interval at every point."""
    frame = rates.dropna(subset=["rate"])
    ticks = alt.Axis(values=sorted(frame[x].unique()))
    titled = titled_models(frame, names)
    base = alt.Chart(titled).encode(
        x=alt.X(f"{x}:Q", title=title, axis=ticks, scale=alt.Scale(zero=False, padding=12)),
        color=model_colour(frame["model"], names),
        tooltip=tooltips(titled),
    )
    scale = _unit_scale(frame["high"])
    y = alt.Y("rate:Q", title=axis, scale=scale, axis=PERCENT)
    return alt.layer(
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            y=y, shape=model_shape(frame["model"], names)
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
            tooltip=tooltips(frame),
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
    found = {*frame[row], *frame[column]}
    ordered = [name for name in order if name in found] + sorted(found - set(order))
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


def model_colour(models: Iterable[str], names: Mapping[str, str] | None = None) -> alt.Color:
    """The colours of models, which are those of their ids, for a column ``model`` of titles."""
    return alt.Color("model:N", scale=_model_scale(models, names, 0))


def model_shape(models: Iterable[str], names: Mapping[str, str] | None = None) -> alt.Shape:
    """The point shapes of models, as :func:`model_colour`."""
    return alt.Shape("model:N", scale=_model_scale(models, names, 1))


def titled_models(frame: pd.DataFrame, names: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The frame with titles in place of its models' ids."""
    return frame.assign(model=[(names or {}).get(model, model) for model in frame["model"]])


def reference(frame: pd.DataFrame, name: str) -> alt.Chart:
    """A chart of what is drawn to compare with, and is none of the numbers of a figure.

    A data set with a name stays where it is used, away from those that a figure shows and saves.
    """
    rows: list[Any] = frame.to_dict("records")
    return alt.Chart(alt.InlineData(values=rows, name=name))


def tooltips(frame: pd.DataFrame) -> list[alt.Tooltip]:
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
    titled = titled_models(frame, names)
    titled[y] = [title_of(value, names) for value in frame[y]]
    base = alt.Chart(titled).encode(
        y=alt.Y(f"{y}:N", title=None, sort=rows),
        yOffset=alt.YOffset("model:N"),
        color=model_colour(frame["model"], names),
        tooltip=tooltips(titled),
    )
    height = len(rows) * max(28, 16 * frame["model"].nunique() + 8)
    return alt.layer(
        *under,
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            x=alt.X("low:Q", title=axis), x2="high:Q"
        ),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            x=alt.X(f"{x}:Q", title=axis, scale=scale, axis=PERCENT if x == "rate" else _POINTS),
            shape=model_shape(frame["model"], names),
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


def _model_scale(models: Iterable[str], names: Mapping[str, str] | None, channel: int) -> alt.Scale:
    ids = sorted(set(models))
    titles = [(names or {}).get(model, model) for model in ids]
    return alt.Scale(domain=titles, range=[model_style(model)[channel] for model in ids])
