"""The study's charts, in one house style.

Each function takes a frame of :mod:`aor_lib.stats` and returns an Altair chart as wide as its
container; :func:`show` makes it a figure for notebooks and for the book. Intervals are always
drawn. Rates are fractions in the data and percent on the page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

PALETTE = ("#0072B2", "#C65A11", "#009E73", "#B8609A", "#A67C00", "#6F6FC8", "#5E8C31")
"""Colour-blind safe (after Okabe and Ito); at least 3:1 on a white and on a near-black page."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

OUTCOMES = {
    "full_compliance": "#0072B2",
    "partial_refusal": "#A67C00",
    "full_refusal": "#C65A11",
    "unjudged": "#B8609A",
    "failed": "#757575",
    "missing": "#9A9A9A",
}
"""What can become of a trial, and its colour."""

TITLES = {
    "pseudo_harmful": "Over-refusal",
    "harmful": "Harmful refusal",
    "benign": "Plain refusal",
    "matched": "Matched scene",
    "mismatched": "Mismatched scene",
    "noise": "Matched noise",
    "speech_only": "Speech only",
    "described": "Scene described",
    "text_only": "Text only",
    "none": "No mitigation",
}
"""What the page calls an id, in the order to show; other ids are shown without underscores."""

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

_NEUTRAL = "#757575"  # legible on white and on near-black; the book's script refines it
_PERCENT = alt.Axis(format="~%", grid=True)
_OWN_STYLE = {"cascade-unaware": 0, "cascade-scene-aware": 1}


@alt.theme.register("aor", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    text = {"labelColor": _NEUTRAL, "titleColor": _NEUTRAL, "labelFontSize": 12}
    axis = {"gridColor": _NEUTRAL, "gridOpacity": 0.25, "domain": False, "ticks": False}
    config: Any = {
        "background": "transparent",
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
        "view": {"stroke": None},
        "axis": text | axis | {"titleFontWeight": "normal", "labelPadding": 6, "labelLimit": 170},
        "axisY": {"grid": False},
        "axisQuantitative": {"grid": True, "tickCount": 5},
        "legend": text
        | {
            "orient": "top",
            "title": None,
            "symbolSize": 80,
            "symbolOpacity": 1,
            "symbolBaseFillColor": _NEUTRAL,
        },
        "style": {"reference": {"color": _NEUTRAL, "stroke": _NEUTRAL, "opacity": 0.7}},
        "mark": {"aria": False},  # the figure carries the description, its table the numbers
    }
    return {"autosize": {"type": "fit-x", "contains": "padding"}, "config": config}


def title_of(value: object, names: Mapping[str, str] | None = None) -> str:
    """What the page calls an id: from ``names``, else :data:`TITLES`, else the id in words."""
    text = str(value)
    return ({**TITLES, **(names or {})}).get(text, text.replace("_", " ").capitalize())


def model_style(model: str) -> tuple[str, str]:
    """Colour and point shape of a model, from its id alone: the same in every chart and study."""
    digest = hashlib.sha256(model.encode()).digest()
    if model in _OWN_STYLE:
        return PALETTE[_OWN_STYLE[model]], SHAPES[_OWN_STYLE[model]]
    taken = len(_OWN_STYLE)
    colour = PALETTE[taken + digest[0] % (len(PALETTE) - taken)]
    return colour, SHAPES[taken + digest[1] % (len(SHAPES) - taken)]


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


@dataclass(frozen=True)
class Figure:
    """A chart with a title and a description, for JupyterLab and for pages without a kernel."""

    spec: dict[str, Any]
    title: str
    alt_text: str

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {
            "application/vnd.vegalite.v6+json": self.spec,
            "text/html": self.html(),
            "text/plain": f"{self.title}. {self.alt_text}",
        }

    def html(self) -> str:
        """The figure as it stands in the book, where a script draws it from its specification."""
        # With no "<" left, nothing in the data can close the script element.
        spec = json.dumps(self.spec, ensure_ascii=False).replace("<", "\\u003c")
        return (
            f'<figure class="aor-chart"><figcaption>{escape(self.title)}</figcaption>'
            f'<div class="aor-chart-view" role="img" aria-label="{escape(self.alt_text)}"></div>'
            f'<script type="application/json">{spec}</script>'
            f"<details><summary>The numbers</summary>{_table(self.spec)}</details></figure>"
        )


def show(chart: Chart, title: str, alt_text: str) -> Figure:
    """A chart as a figure: ``title`` above it, ``alt_text`` for those who do not see it."""
    return Figure(chart.to_dict(), title, alt_text)


def interval(row: Mapping[str, Any] | pd.Series[Any]) -> str:
    """A row of :func:`aor_lib.stats.rates` in words."""
    if not row["judged"]:
        return "no judged answer"
    return (
        f"{row['rate']:.1%} (95% interval {row['low']:.1%} to {row['high']:.1%}; "
        f"{row['refused']:.0f} of {row['judged']:.0f} judged answers)"
    )


def points(difference: float) -> str:
    """A difference of rates in words, such as ``-3.2 points`` with a proper minus sign."""
    return f"{100 * difference:+.1f} points".replace("-", "\N{MINUS SIGN}")


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


def _is_share(column: str) -> bool:
    return column.startswith(("rate", "low", "high", "difference", "orr", "hrr"))


def _tooltips(frame: pd.DataFrame) -> list[alt.Tooltip]:
    """One line a column; shares in percent."""
    numeric = frame.select_dtypes("number").columns
    return [
        alt.Tooltip(
            name,
            type="quantitative" if name in numeric else "nominal",
            format=".1%" if _is_share(name) else ".4~g" if name in numeric else alt.Undefined,
        )
        for name in map(str, frame.columns)
    ]


def _table(spec: Mapping[str, Any]) -> str:
    """The chart's largest data set as an HTML table."""
    rows = max(spec["datasets"].values(), key=len)
    frame = pd.DataFrame(rows)
    formats: dict[Any, Any] = {
        column: "{:.1%}".format if _is_share(str(column)) else "{:.4g}".format
        for column in frame.select_dtypes("number")
    }
    return str(frame.to_html(index=False, border=0, formatters=formats, na_rep="-"))
