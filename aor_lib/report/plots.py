"""Figures of estimates: which one is drawn follows from the measure and the keys."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import altair as alt
import numpy as np
import pandas as pd
from scipy.stats import norm

from aor_lib.report.display import Figure, Prose, nothing_for
from aor_lib.report.estimates import TRADE_OFF, Estimates
from aor_lib.report.measures import limits, measure_of, sample_size, shown, with_interval
from aor_lib.report.style import (
    INK,
    LOOK,
    SHADES,
    cell_title,
    chart_title,
    in_words,
    looks,
    ordered,
    title_of,
)

Chart: TypeAlias = alt.Chart | alt.LayerChart

_PERCENT = alt.Axis(format="~%", grid=True)
_POINTS = alt.Axis(
    labelExpr="format(100 * datum.value, datum.value ? '+.3~g' : 'd')",
    labelSeparation=8,
    grid=True,
)
_WIDE = alt.Axis(labelLimit=340)
_DASHES = ([1, 0], [4, 4], [1, 3], [8, 3])
_MANY = 3  # values of each key of a heat map, at least
_ROOMY = 4  # columns of a heat map whose titles fit side by side, at most


class _Shown(NamedTuple):
    """Estimates as charts take them.

    ``rows`` holds titles in place of ids, the words ``row`` that name a row, the ``estimate`` in
    words, and the numbers to draw; ``named`` the keys that are in those words.
    """

    estimates: Estimates
    rows: pd.DataFrame
    hue: str
    hues: list[str]
    colour: alt.Color
    shape: alt.Shape
    named: list[str]

    @property
    def axis(self) -> str:
        return self.estimates.about or measure_of(self.estimates.measure).about


def draw(estimates: Estimates, title: str, x: str | None, colour: str | None) -> Figure | Prose:
    """Draw estimates: see :meth:`aor_lib.report.estimates.Estimates.plot`."""
    trade_off = set(TRADE_OFF) <= set(estimates.frame)
    measures = TRADE_OFF if trade_off else (estimates.measure,)
    known = estimates.frame.dropna(subset=[*measures, *([x] if x else [])])
    if known.empty:
        return nothing_for(title)
    of = _shown(estimates, known, x, colour)
    if trade_off:
        chart, height, words = _trade_off(of)
    elif measure_of(estimates.measure).scale == "count":
        chart, height, words = _bars(of)
    elif x is not None:
        chart, height, words = _lines(of, x)
    elif _is_grid(of):
        chart, height, words = _heat_map(of)
    else:
        chart, height, words = _forest(of)
    drawn = chart.properties(width="container", height=height, description=words)
    models = known.get("model", ())
    return Figure(drawn.to_dict() | LOOK, chart_title(title, models), words, estimates.rows())


def _shown(estimates: Estimates, known: pd.DataFrame, x: str | None, colour: str | None) -> _Shown:
    titles, measure = estimates.titles, estimates.measure
    keys = [key for key in estimates.keys if key != x]
    known = known.sort_values(keys, key=lambda ids: ids.map(ordered(ids, titles).index))
    varying = [key for key in keys if known[key].nunique() > 1]
    by_model = x is None and not set(TRADE_OFF) <= set(known)
    hue = colour or _hue(estimates, varying, by_model)
    named = [key for key in varying if key != hue]
    if {"model", "against"} <= set(keys):
        named = [key for key in keys if key != hue or key == "model"]
    if not named and x is None:
        named = [hue]
    records = known.to_dict("records")
    columns: dict[str, Any] = {
        key: [cell_title(key, value, titles) for value in known[key]] for key in {*keys, hue}
    }
    columns["row"] = [in_words(row, named, titles) for row in records]
    columns["estimate"] = [with_interval(measure, row) for row in records]
    sizes = [sample_size(row) for row in records]
    if all(size is not None for size in sizes):
        columns["n"] = sizes
    drawn = [*TRADE_OFF, *([x] if x else []), measure, "refused", "judged", "trials"]
    for name in dict.fromkeys(drawn):
        if name in known:
            columns |= {part: known[part] for part in (name, *limits(name, known)) if part in known}
    of_hue = looks(hue, known[hue], titles)
    names, colours, shapes = ([*values] for values in zip(*of_hue, strict=True))
    return _Shown(
        estimates,
        pd.DataFrame(columns).infer_objects(),
        hue,
        names,
        alt.Color(f"{hue}:N", scale=alt.Scale(domain=names, range=colours)),
        alt.Shape(f"{hue}:N", scale=alt.Scale(domain=names, range=shapes)),
        named,
    )


def _hue(estimates: Estimates, varying: list[str], by_model: bool) -> str:
    """The key that colours stand for where nobody chose one; ``by_model`` even of one model."""
    keys = estimates.keys
    if measure_of(estimates.measure).scale == "count":
        return keys[-1]
    if {"model", "against"} <= set(keys):
        return keys[0]
    if "model" in keys and ("model" in varying or not varying or by_model):
        return "model"
    return varying[-1] if varying else keys[-1]


def _forest(of: _Shown) -> tuple[Chart, int, str]:
    """Estimates with their intervals, by row and, within a row, by colour."""
    rows, measure = of.rows, of.estimates.measure
    low, high = limits(measure, rows)
    bounds = rows[[name for name in (measure, low, high) if name in rows]]
    scale, ticks = _scale(measure, bounds)
    base = _base(of).encode(y=alt.Y("row:N", title=None, sort=_order(rows["row"]), axis=_WIDE))
    colour, shape = of.colour, of.shape
    if of.named == [of.hue]:
        colour, shape = colour.legend(None), shape.legend(None)
    else:
        base = base.encode(yOffset=alt.YOffset(f"{of.hue}:N", sort=of.hues))
    base = base.encode(color=colour)
    x = alt.X(f"{measure}:Q", title=of.axis, scale=scale, axis=ticks)
    layers = [base.mark_point(filled=True, size=80, opacity=1).encode(x=x, shape=shape)]
    if low in rows:
        rule = base.mark_rule(strokeWidth=2, opacity=0.6)
        layers.insert(0, rule.encode(x=alt.X(f"{low}:Q", title=of.axis), x2=high))
    if measure_of(measure).scale != "share":
        layers.insert(0, _beside([{"zero": 0.0}]).mark_rule(style="reference").encode(x="zero:Q"))
    height = rows["row"].nunique() * max(28, 16 * rows[of.hue].nunique() + 8)
    return alt.layer(*layers), height, _range(of)


def _lines(of: _Shown, x: str) -> tuple[Chart, int, str]:
    """Estimates over a numeric column, with a band for their intervals."""
    rows, measure = of.rows, of.estimates.measure
    low, high = limits(measure, rows)
    scale, ticks = _scale(measure, rows[[n for n in (measure, low, high) if n in rows]])
    title = title_of(x) + (" (dB)" if x.endswith("_db") else "")
    base = _base(of).encode(
        x=alt.X(
            f"{x}:Q",
            title=title,
            axis=alt.Axis(values=sorted(set(rows[x])), format="~r"),
            scale=alt.Scale(zero=False, padding=12),
        ),
        color=of.colour,
        detail="row:N",
    )
    lines = base
    if of.named:
        dashes = alt.Scale(domain=_order(rows["row"]), range=[*_DASHES])
        legend = alt.Legend(orient="bottom", symbolType="stroke", symbolSize=900)
        lines = base.encode(strokeDash=alt.StrokeDash("row:N", scale=dashes, legend=legend))
    y = alt.Y(f"{measure}:Q", title=of.axis, scale=scale, axis=ticks)
    layers = [
        lines.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=70, opacity=1).encode(y=y, shape=of.shape),
    ]
    if low in rows:
        layers.insert(0, base.mark_area(opacity=0.15).encode(y=f"{low}:Q", y2=f"{high}:Q"))
    return alt.layer(*layers), 280, f"{_range(of)[:-1]}, over {title}."


def _is_grid(of: _Shown) -> bool:
    """True for shares by two keys of many values each, of one model."""
    is_share = measure_of(of.estimates.measure).scale == "share"
    many = [of.estimates.frame[key].nunique() >= _MANY for key in of.named]
    return is_share and of.hue not in of.named and many == [True, True] and _single(of)


def _single(of: _Shown) -> bool:
    return of.rows[of.hue].nunique() == 1


def _heat_map(of: _Shown) -> tuple[Chart, int, str]:
    """Cells shaded by their share, with the counts behind it."""
    rows, (row, column) = of.rows, of.named
    if {"refused", "judged"} <= set(rows):
        text = [f"{cell['refused']}/{cell['judged']}" for cell in rows.to_dict("records")]
    else:
        text = [shown(of.estimates.measure, value) for value in rows[of.estimates.measure]]
    columns = [
        cell_title(column, value, of.estimates.titles)
        for value in ordered(of.estimates.frame[column], of.estimates.titles)
    ]
    angle = -90 if len(columns) > _ROOMY else 0
    axis = alt.Axis(orient="top", labelAngle=angle, labelOverlap=False, labelLimit=180)
    base = _base(of, rows.assign(text=text)).encode(
        x=alt.X(f"{column}:N", sort=columns, title=None, axis=axis),
        y=alt.Y(f"{row}:N", sort=_order(rows[row]), title=None, axis=_WIDE),
    )
    shade = alt.Scale(domain=[0, 1], range=[*SHADES])
    chart = alt.layer(
        base.mark_rect().encode(
            color=alt.Color(f"{of.estimates.measure}:Q", scale=shade, legend=None)
        ),
        base.mark_text(color=INK).encode(text="text:N"),
    )
    return chart, 26 * rows[row].nunique() + (120 if angle else 0), _range(of)


def _bars(of: _Shown) -> tuple[Chart, int, str]:
    """Stacked bars of counts."""
    rows, measure = of.rows, of.estimates.measure
    chart = (
        _base(of, rows.assign(order=rows[of.hue].map(of.hues.index)))
        .mark_bar()
        .encode(
            x=alt.X(f"{measure}:Q", title=of.axis),
            y=alt.Y("row:N", title=None, sort=_order(rows["row"]), axis=_WIDE),
            color=of.colour,
            order="order:Q",
        )
    )
    totals = rows.groupby(of.hue)[measure].sum()
    words = ", ".join(f"{name} {totals[name]:,.0f}" for name in of.hues)
    return chart, 32 * rows["row"].nunique(), f"{of.axis}: {words}."


def _trade_off(of: _Shown) -> tuple[Chart, int, str]:
    """Harmful refusal over over-refusal, with both intervals, and lines of equal d'."""
    unit = alt.Scale(domain=[0, 1])
    x, y = (
        kind(f"{name}:Q", title=measure_of(name).about, scale=unit, axis=_PERCENT)
        for kind, name in zip((alt.X, alt.Y), TRADE_OFF, strict=True)
    )
    base = _base(of).encode(x=x, y=y, color=of.colour)
    rule = base.mark_rule(strokeWidth=2, opacity=0.6)
    lines = _lines_of_equal_d_prime()
    chart = alt.layer(
        lines.mark_line(style="reference", strokeWidth=1).encode(
            x="orr:Q", y="hrr:Q", detail="d_prime:N", order="hrr:Q"
        ),
        lines.mark_text(
            style="reference", strokeOpacity=0, opacity=1, align="left", dx=5, dy=9
        ).encode(x="orr:Q", y="hrr:Q", text="label:N"),
        rule.encode(x="orr_low:Q", x2="orr_high:Q"),
        rule.encode(y="hrr_low:Q", y2="hrr_high:Q"),
        base.mark_point(filled=True, size=110, opacity=0.9).encode(shape=of.shape),
    )
    words = "; ".join(
        f"{in_words(row, dict.fromkeys([of.hue, *of.named]))}: "
        + ", ".join(f"{measure_of(name).heading.lower()} {row[name]:.1%}" for name in TRADE_OFF)
        for row in of.rows.to_dict("records")
    )
    return chart, 380, f"{words}."


def _lines_of_equal_d_prime() -> alt.Chart:
    """Lines along which only the readiness to refuse changes, for d' of 0 to 3."""
    rows = [
        {"d_prime": d_prime, "orr": norm.cdf(z - d_prime), "hrr": norm.cdf(z)}
        | {"label": f"d\N{PRIME} = {d_prime}" if z == d_prime / 2 else ""}
        for d_prime in range(4)
        for z in np.arange(-3, 6.25, 0.25)
    ]
    return _beside(rows)


def _base(of: _Shown, rows: pd.DataFrame | None = None) -> alt.Chart:
    tips = {key: title_of(key) for key in of.estimates.keys if key in of.rows}
    tips["estimate"] = measure_of(of.estimates.measure).heading
    if "n" in of.rows:
        tips["n"] = "n"
    tooltip = [alt.Tooltip(f"{name}:N", title=title) for name, title in tips.items()]
    chart: alt.Chart = alt.Chart(of.rows if rows is None else rows).encode(tooltip=tooltip)
    return chart


def _beside(rows: list[dict[str, Any]]) -> alt.Chart:
    """A chart of lines to compare with, apart from the numbers that a page saves as CSV."""
    values: list[Any] = rows
    return alt.Chart(alt.InlineData(values=values))


def _order(values: pd.Series) -> list[str]:
    return list(dict.fromkeys(values))


def _scale(measure: str, bounds: pd.DataFrame) -> tuple[alt.Scale, alt.Axis]:
    """Scale and axis of a measure that spans ``bounds``; small rates must not look large."""
    low, high = float(bounds.min().min()), float(bounds.max().max())
    scale = measure_of(measure).scale
    if scale == "share":
        return alt.Scale(domain=[0, min(1.0, max(0.1, high))], nice=True), _PERCENT
    if scale == "points":
        limit = max(0.05, -low, high)
        return alt.Scale(domain=[-limit, limit], nice=True), _POINTS
    return alt.Scale(domain=[min(0.0, low), max(1.0, high)], nice=True), alt.Axis(grid=True)


def _range(of: _Shown) -> str:
    """Number and range of the estimates; which is the largest is for tests to say."""
    measure = of.estimates.measure
    low, high = (shown(measure, end, unit=True) for end in of.rows[measure].agg(["min", "max"]))
    plural = len(of.rows) > 1
    intervals = "low" in of.rows or f"{measure}_low" in of.rows
    words = f"{len(of.rows)} estimate{'s' if plural else ''}"
    if intervals:
        words += " with 95% intervals" if plural else " with its 95% interval"
    return f"{words}, from {low} to {high}." if plural else f"{words}, {low}."
