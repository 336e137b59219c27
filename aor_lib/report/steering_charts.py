"""Charts of steering's estimates on ``dev``, from the tables of :mod:`aor_lib.steering.tables`.

``sweep`` is the table :data:`aor_lib.steering.tables.LAYER_SWEEP` of one model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import altair as alt
import pandas as pd
from IPython.display import display

from aor_lib.report.charts import Shown, dashed_line, dose_response, figure, titled, tooltips
from aor_lib.report.detection_charts import DIAGONAL, X, Y
from aor_lib.report.figures import in_words
from aor_lib.report.instrument import title_for
from aor_lib.report.markdown import nothing_for
from aor_lib.report.style import series
from aor_lib.steering.tables import METHODS

_MEASURES = {"orr": "Over-refusal", "hrr": "Harmful refusal"}


def for_each_model(
    draw: Callable[..., Shown], table: pd.DataFrame, title: str, names: Mapping[str, str]
) -> None:
    """Display ``draw(rows, title=...)`` of each model's rows, or a note where there are none."""
    if table.empty:
        display(nothing_for(title))
    for model, rows in table.groupby("model"):
        figure_of_model = draw(
            rows, title=title_for(rows, f"{title}: {names.get(str(model), model)}")
        )
        display(figure_of_model)


def layer_sweep(sweep: pd.DataFrame, *, title: str) -> Shown:
    """Estimated rates over the layer: additions once their length away from refusal, and ablation.

    Solid lines are over-refusal, dashed ones harmful refusal.
    """
    once = sweep["coefficient"].eq(-1) | (sweep["coefficient"].isna() & sweep["lam"].eq(1))
    rates = sweep[once].melt(["method", "layer"], list(_MEASURES), "measure", "rate")
    return dose_response(
        rates,
        "layer",
        title=title,
        x_axis="Layer",
        axis="Estimated rate",
        colour="method",
        dash="measure",
        names=METHODS | _MEASURES,
    )


def coefficient_sweep(sweep: pd.DataFrame, *, title: str) -> Shown:
    """Estimated rates of each method, as its coefficient goes from 0 away from refusal.

    One line per layer at which several coefficients were tried; ablations are points.
    """
    none = sweep.loc[sweep["method"] == "none", ["coefficient", "orr", "hrr"]]
    tried = sweep.groupby(["method", "layer"])["coefficient"].transform("nunique")
    several = sweep[tried > 1]
    starts = several[["method", "layer"]].drop_duplicates().merge(none, how="cross")
    ablations = sweep[sweep["method"] == "false_refusal_ablation"]
    points = pd.concat([starts, several, ablations], ignore_index=True)
    if points.empty:
        return nothing_for(title)
    shown = titled(points, ["method"], METHODS)
    colour = series("method", points["method"], METHODS).colour
    base = alt.Chart(shown).encode(x=X, y=Y, color=colour, tooltip=tooltips(shown))
    lines = base.transform_filter("isValid(datum.coefficient)").mark_line(strokeWidth=2)
    chart = alt.layer(
        dashed_line(DIAGONAL, "orr", "hrr"),
        lines.encode(detail="layer:N", order="coefficient:Q"),
        base.mark_point(filled=True, size=50, opacity=0.9),
    )
    low, high = (in_words("orr", end) for end in (points["orr"].min(), points["orr"].max()))
    return figure(chart, title, f"{len(points)} points; over-refusal {low} to {high}", 320)
