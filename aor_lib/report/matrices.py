"""Matrices of shaded cells: what is taken for what, and rates in two directions at once."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from aor_lib.report.drawing import WIDE, Chart, Names, Shown, figure, titled, tooltips
from aor_lib.report.instrument import title_for
from aor_lib.report.markdown import nothing_for
from aor_lib.report.style import INK, SHADES, cell_title, ordered

_FEW = 4  # columns that have room for their titles side by side


def confusion(
    frame: pd.DataFrame,
    row: str,
    column: str,
    *,
    title: str,
    row_axis: str | None,
    column_axis: str,
    by: str | None = None,
    names: Names = None,
) -> Shown:
    """Confusion matrix that counts the rows of a frame, shaded by the share of each row.

    With ``by``, the matrices of its values stand one above the other.
    """
    keys = [by, row] if by else [row]
    counts = frame.groupby([*keys, column], observed=True).size().reset_index(name="count")
    if counts.empty:
        return nothing_for(title)
    counts["rate"] = counts["count"] / counts.groupby(keys)["count"].transform("sum")
    known = ordered([*counts[row], *counts[column]], names)
    counts = counts.sort_values(keys, key=lambda c: c.map(known.index) if c.name == row else c)
    shown = titled(counts, [*keys, column], names)
    shown["row"] = shown[keys].agg(": ".join, axis=1)
    columns = [cell_title(column, value, names) for value in known]
    chart = _cells(shown, column, columns, "count:Q", row_axis, column_axis)
    agreeing = counts.loc[counts[row] == counts[column], "count"].sum() / counts["count"].sum()
    rows = shown["row"].nunique()
    words = f"{counts['count'].sum()} cases in {rows} rows; {agreeing:.0%} lie on the diagonal"
    return figure(chart, title_for(frame, title), words, 26 * rows)


def heat_map(
    rates: pd.DataFrame, rows: Sequence[str], column: str, *, title: str, names: Names = None
) -> Shown:
    """Rates by ``rows`` (such as model and scenario) and ``column``.

    Each cell has its counts, and the shade of its rate.
    """
    rates = rates.dropna(subset=["rate"])
    if rates.empty:
        return nothing_for(title)
    keys = list(rows)
    rates = rates.sort_values(keys, key=lambda values: values.map(ordered(values, names).index))
    shown = titled(rates, [*keys, column], names)
    shown["row"] = shown[keys].agg(": ".join, axis=1)
    shown["counts"] = [f"{row.refused}/{row.judged}" for row in rates.itertuples()]
    columns = [cell_title(column, value, names) for value in ordered(rates[column], names)]
    chart = _cells(shown, column, columns, "counts:N", None, None)
    words = f"{len(rates)} rates from {rates['rate'].min():.0%} to {rates['rate'].max():.0%}"
    return figure(chart, title_for(rates, title), words, 26 * shown["row"].nunique())


def _cells(
    shown: pd.DataFrame,
    column: str,
    columns: list[str],
    text: str,
    row_axis: str | None,
    column_axis: str | None,
) -> Chart:
    """Cells of a frame with the columns ``row`` and ``rate``, shaded by the rate."""
    angle = -90 if len(columns) > _FEW else 0
    x_axis = alt.Axis(orient="top", labelAngle=angle, labelOverlap=False, labelLimit=180)
    rows = list(dict.fromkeys(shown["row"]))
    base = alt.Chart(shown).encode(
        x=alt.X(f"{column}:N", sort=columns, title=column_axis, axis=x_axis),
        y=alt.Y("row:N", sort=rows, title=row_axis, axis=WIDE),
        tooltip=tooltips(shown),
    )
    shade = alt.Scale(domain=[0, 1], range=[*SHADES])
    return alt.layer(
        base.mark_rect().encode(color=alt.Color("rate:Q", scale=shade, legend=None)),
        base.mark_text(color=INK).encode(text=text),
    )
