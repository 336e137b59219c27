"""Figures of estimates; the measure and the keys determine the chart type."""

from typing import Any, TypeAlias

import altair as alt
import pandas as pd

from aor_lib.report.display import Figure, Prose, nothing_for
from aor_lib.report.estimates import TRADE_OFF, Estimates
from aor_lib.report.measures import limits, measure_of, sample_size, shown, with_interval
from aor_lib.report.style import LOOK, cell_title, chart_title, in_words, looks, ordered, title_of

Drawn: TypeAlias = tuple[alt.Chart | alt.LayerChart, int, str]
"""A chart, its height in pixels, and a description in words."""

_PERCENT = alt.Axis(format="~%", grid=True)
_POINT_LABEL = "format(100 * datum.value, datum.value ? '+.3~g' : 'd')"
_POINTS = alt.Axis(labelExpr=_POINT_LABEL, labelSeparation=8, grid=True)
_WHOLE = alt.Scale(domain=[0, 1])


def draw(estimates: Estimates, title: str, x: str | None, colour: str | None) -> Figure | Prose:
    """Draw estimates: see :meth:`aor_lib.report.estimates.Estimates.plot`."""
    is_trade_off = set(TRADE_OFF) <= set(estimates.frame)
    measures = [*TRADE_OFF] if is_trade_off else [estimates.measure]
    known = estimates.frame.dropna(subset=[*measures, *([x] if x else [])])
    if known.empty:
        return nothing_for(title)
    if estimates.measure == "share":  # of one whole: its parts are the last key
        colour = estimates.keys[-1]
    picture = _Picture(estimates, known, x, colour)
    if is_trade_off:
        chart, height, words = picture.trade_off()
    elif x is not None:
        chart, height, words = picture.lines(x)
    elif estimates.measure == "share":
        chart, height, words = picture.stacked()
    else:
        chart, height, words = picture.forest()
    drawn = chart.properties(width="container", height=height, description=words)
    shown_title = chart_title(title, known.get("model", ()))
    return Figure(drawn.to_dict() | LOOK, shown_title, words, estimates.rows())


class _Picture:
    """Estimates prepared for a chart: titles in place of ids, in display order."""

    def __init__(
        self, estimates: Estimates, known: pd.DataFrame, x: str | None, colour: str | None
    ) -> None:
        titles, self.measure = estimates.titles, estimates.measure
        self.basis = f", {estimates.basis}" if estimates.basis else ""
        self.axis = (estimates.about or measure_of(self.measure).about) + self.basis
        self.low, self.high = limits(self.measure, known)
        self.keys = [key for key in estimates.keys if key != x]
        for key in reversed(self.keys):
            places = known[key].map(ordered(known[key], titles).index)
            known = known.iloc[places.argsort(kind="stable")]
        varying = [key for key in self.keys if known[key].nunique() > 1]
        by_model = x is None and not set(TRADE_OFF) <= set(known)
        self.hue = colour or self._hue(varying, by_model)
        self.named = [key for key in varying if key != self.hue]  # in the words of a row
        if not self.named and by_model:
            self.named = [self.hue]
        records = known.to_dict("records")
        rows: pd.DataFrame = known.select_dtypes("number").copy()
        for key in (*self.keys, self.hue):
            rows[key] = [cell_title(key, row[key], titles) for row in records]
        rows["row"] = [in_words(row, self.named, titles) for row in records]
        rows["estimate"] = [with_interval(self.measure, row) for row in records]
        rows["n"] = [sample_size(row) for row in records]
        rows["clips"] = [estimates.clips(row) for row in records]
        self.rows, self.in_order = rows.infer_objects(), list(dict.fromkeys(rows["row"]))
        table = pd.DataFrame(looks(self.hue, known[self.hue], titles))
        self.hues, colours, shapes = (table[place].tolist() for place in table)
        self.colour = alt.Color(f"{self.hue}:N", scale=alt.Scale(domain=self.hues, range=colours))
        self.shape = alt.Shape(f"{self.hue}:N", scale=alt.Scale(domain=self.hues, range=shapes))

    def _hue(self, varying: list[str], by_model: bool) -> str:
        if "model" in self.keys and ("model" in varying or not varying or by_model):
            return "model"
        return varying[-1] if varying else self.keys[-1]

    def forest(self) -> Drawn:
        colour, shape = self.colour, self.shape
        y = alt.Y("row:N", title=None, sort=self.in_order, axis=alt.Axis(labelLimit=340))
        base = self._base().encode(y=y, href="clips:N")
        if self.named == [self.hue]:
            colour, shape = colour.legend(None), shape.legend(None)
        else:
            base = base.encode(yOffset=alt.YOffset(f"{self.hue}:N", sort=self.hues))
        scale, ticks = self._scale()
        x = alt.X(f"{self.measure}:Q", title=self.axis, scale=scale, axis=ticks)
        base = base.encode(x=x, color=colour)
        rule = base.mark_rule(strokeWidth=2, opacity=0.6)
        layers = [
            rule.encode(x=alt.X(f"{self.low}:Q", title=self.axis), x2=self.high),
            base.mark_point(filled=True, size=80, opacity=1).encode(shape=shape),
        ]
        if measure_of(self.measure).scale != "share":
            zero = _beside([{"zero": 0.0}]).mark_rule(style="reference")
            layers.insert(0, zero.encode(x="zero:Q"))
        counts = self.rows["row"].value_counts()
        return alt.layer(*layers), len(counts) * max(34, 16 * counts.max() + 8), f"{self._range()}."

    def stacked(self) -> Drawn:
        self.rows["place"] = self.rows[self.hue].map(self.hues.index)
        x = alt.X(f"{self.measure}:Q", title=self.axis, axis=_PERCENT, scale=_WHOLE)
        y = alt.Y("row:N", title=None, scale=alt.Scale(domain=self.in_order))
        base = self._base().transform_filter(f"datum.{self.measure} > 0")
        bars = base.mark_bar().encode(x=x, y=y, color=self.colour, href="clips:N")
        return bars.encode(order="place:Q"), 34 * len(self.in_order), f"{self._range()}."

    def lines(self, x: str) -> Drawn:
        title = title_of(x) + (" (dB)" if x.endswith("_db") else "")
        ticks = alt.Axis(values=sorted(set(self.rows[x])), labelExpr="format(datum.value, '~r')")
        over = alt.X(f"{x}:Q", title=title, axis=ticks, scale=alt.Scale(zero=False, padding=12))
        base = self._base().encode(x=over, color=self.colour, detail="row:N")
        scale, ticks = self._scale()
        y = alt.Y(f"{self.measure}:Q", title=self.axis, scale=scale, axis=ticks)
        points = base.mark_point(filled=True, size=70, opacity=1)
        chart = alt.layer(
            base.mark_area(opacity=0.15).encode(y=f"{self.low}:Q", y2=f"{self.high}:Q"),
            base.mark_line(strokeWidth=2).encode(y=y),
            points.encode(y=y, shape=self.shape, href="clips:N"),
        )
        return chart, 280, f"{self._range()}, over {title}."

    def trade_off(self) -> Drawn:
        over, harmful = (measure_of(name).about + self.basis for name in TRADE_OFF)
        x = alt.X("orr:Q", axis=_PERCENT, title=over, scale=_WHOLE)
        y = alt.Y("hrr:Q", axis=_PERCENT, title=harmful, scale=_WHOLE)
        base = self._base().encode(x=x, y=y, color=self.colour, href="clips:N")
        rule = base.mark_rule(strokeWidth=2, opacity=0.6)
        diagonal = _beside([{"orr": 0.0, "hrr": 0.0}, {"orr": 1.0, "hrr": 1.0}])
        chart = alt.layer(
            diagonal.mark_line(style="reference", strokeWidth=1).encode(x="orr:Q", y="hrr:Q"),
            rule.encode(x="orr_low:Q", x2="orr_high:Q"),
            rule.encode(y="hrr_low:Q", y2="hrr_high:Q"),
            base.mark_point(filled=True, size=110, opacity=0.9).encode(shape=self.shape),
        )
        words = f"{len(self.rows)} pairs of rates with 95% intervals; the table has the numbers."
        return chart, 380, words

    def _base(self) -> alt.Chart:
        tips = {key: title_of(key) for key in self.keys if key in ("model", self.hue, *self.named)}
        tips |= {"estimate": measure_of(self.measure).heading, "n": "n"}
        tooltip = [alt.Tooltip(f"{name}:N", title=title) for name, title in tips.items()]
        return alt.Chart(self.rows).encode(tooltip=tooltip)

    def _scale(self) -> tuple[alt.Scale, alt.Axis]:
        """Scale and axis of the measure; an axis of rates reaches at least 10 %."""
        known = self.rows[[self.measure, self.low, self.high]]
        low, high = known.min().min(), known.max().max()
        scale = measure_of(self.measure).scale
        if scale == "share":
            return alt.Scale(domain=[0, min(1.0, max(0.1, high))], nice=True), _PERCENT
        if scale == "points":
            reach = max(0.05, -low, high)
            return alt.Scale(domain=[-reach, reach], nice=True), _POINTS
        return alt.Scale(domain=[min(0.0, low), max(1.0, high)], nice=True), alt.Axis(grid=True)

    def _range(self) -> str:
        values = self.rows[self.measure]
        low, high = (shown(self.measure, end, unit=True) for end in (values.min(), values.max()))
        count = "1 estimate" if len(values) == 1 else f"{len(values)} estimates"
        return f"{count} with 95% intervals, from {low} to {high}"


def _beside(rows: list[Any]) -> alt.Chart:
    """Chart of reference lines, whose data a page does not save as CSV."""
    return alt.Chart(alt.InlineData(values=rows))
