"""Parts that all charts share: axes, titles, tooltips, and the figure around them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import pandas as pd
from IPython.display import display

from aor_lib.report.figures import Figure, is_share
from aor_lib.report.instrument import title_for
from aor_lib.report.markdown import Prose, nothing_for
from aor_lib.report.style import cell_title

Names: TypeAlias = Mapping[str, str] | None
Shown: TypeAlias = Figure | Prose
Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

PERCENT = alt.Axis(format="~%", grid=True)
UNIT = alt.Scale(domain=[0, 1])
_SIGNED = "format(100 * datum.value, datum.value ? '+.3~g' : 'd')"
POINTS = alt.Axis(labelExpr=_SIGNED, labelSeparation=8, grid=True)
WIDE = alt.Axis(labelLimit=340)


def figure(
    chart: Chart, title: str, words: str, height: int, numbers: pd.DataFrame | None = None
) -> Figure:
    """A chart as a figure that is as wide as its container, and that says what it shows."""
    drawn = chart.properties(width="container", height=height, description=f"{words}.")
    return Figure(drawn.to_dict(), title, f"{words}.", numbers)


def titled(frame: pd.DataFrame, columns: Sequence[str] | set[str], names: Names) -> pd.DataFrame:
    """The frame with titles in place of the ids of some columns."""
    # Altair writes what is missing in a column of objects as NaN, which is no JSON.
    frame = frame.infer_objects()
    return frame.assign(
        **{name: [cell_title(name, value, names) for value in frame[name]] for name in columns}
    )


def dashed_line(ends: pd.DataFrame, x: str, y: str) -> alt.Chart:
    """A straight line to compare with, which is none of the numbers of a figure."""
    line: alt.Chart = (
        reference(ends, "dashed")
        .mark_line(style="reference", strokeDash=[4, 4], strokeWidth=1)
        .encode(x=f"{x}:Q", y=f"{y}:Q")
    )
    return line


def reference(frame: pd.DataFrame, name: str) -> alt.Chart:
    """A chart of a data set that stays inside it, away from the numbers that a figure saves."""
    rows: list[Any] = frame.to_dict("records")
    return alt.Chart(alt.InlineData(values=rows, name=name))


def tooltips(frame: pd.DataFrame) -> list[alt.Tooltip]:
    """One line per column; shares in percent."""
    numeric = frame.select_dtypes("number").columns
    return [
        alt.Tooltip(
            name,
            type="quantitative" if name in numeric else "nominal",
            format=".1%" if is_share(name) else ".4~g" if name in numeric else alt.Undefined,
        )
        for name in map(str, frame.columns)
    ]


def for_each_model(
    draw: Callable[..., Shown], table: pd.DataFrame, title: str, names: Mapping[str, str]
) -> None:
    """Display ``draw(rows, title=...)`` of each model's rows, or a note where there are none."""
    if table.empty:
        display(nothing_for(title))
    for model, rows in table.groupby("model"):
        of_model = title_for(rows, f"{title}: {names.get(str(model), model)}")
        display(draw(rows, title=of_model))
