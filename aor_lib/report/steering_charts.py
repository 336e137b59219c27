"""Charts of steering, from the tables of :mod:`aor_lib.steering.tables`.

``sweep`` is the table :data:`aor_lib.steering.tables.LAYER_SWEEP` of one model.
"""

import altair as alt
import pandas as pd

from aor_lib.report.charts import dose_response
from aor_lib.report.detection_charts import DIAGONAL, X, Y
from aor_lib.report.drawing import (
    Shown,
    dashed_line,
    figure,
    titled,
    tooltips,
)
from aor_lib.report.figures import NOTHING, in_words, is_share, signed
from aor_lib.report.listening import Html
from aor_lib.report.markdown import Prose, nothing_for
from aor_lib.report.result_tables import table
from aor_lib.report.style import series, title_of
from aor_lib.steering.tables import COMPONENTS, METHODS, SOURCES

_GOALS = {"less": "Answering more", "more": "Refusing more"}
_MEASURES = {"orr": "Over-refusal", "hrr": "Harmful refusal"}


def layer_sweep(sweep: pd.DataFrame, *, title: str) -> Shown:
    """Estimated rates over the layer: additions once their length away from refusal, and ablation.

    Solid lines are over-refusal, dashed ones harmful refusal.
    """
    sweep = _found_in_one_way(sweep)
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
    sweep = _found_in_one_way(sweep)
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


def compared(found: pd.DataFrame, *, title: str) -> Html | Prose:
    """Table of the best estimates on ``dev`` of each method and source of its direction.

    ``found`` is :data:`aor_lib.steering.tables.COMPARED` of one model.
    """
    numbers = ("layer", "coefficient", "cosine", "orr", "hrr")
    cells = {name: [_cell(name, value) for value in found[name]] for name in numbers}
    absent = found["orr"].isna()
    rows = pd.DataFrame(
        {
            "Method": list(map(_method, found["method"], found["components"])),
            "Direction from": found["source"].map(SOURCES).fillna(NOTHING),
            "Meant for": found["goal"].map(_GOALS).fillna(NOTHING),
            "Layer": cells["layer"],
            "Coefficient": cells["coefficient"],
            "Cosine": cells["cosine"],
            "Over-refusal": pd.Series(cells["orr"]).mask(absent.to_numpy(), "it has none"),
            "Harmful refusal": cells["hrr"],
            "Within the limit": found["within"].map({True: "yes", False: "no"}).fillna(NOTHING),
        }
    )
    return table(rows, title)


def _found_in_one_way(sweep: pd.DataFrame) -> pd.DataFrame:
    """Estimates away from refusal, of one direction per method and layer: the first looked at."""
    source = sweep["method"].map({"sarsteer": "text"}).fillna("audio")
    components = sweep["components"].fillna(COMPONENTS[-1])
    first = sweep["source"].eq(source) & components.eq(COMPONENTS[-1])
    return sweep[first & ~sweep["coefficient"].gt(0)]


def _method(method: str, components: float) -> str:
    number = "" if pd.isna(components) else f", {components:.0f} components"
    return title_of(method, METHODS) + number


def _cell(name: str, value: float) -> str:
    if pd.isna(value):
        return NOTHING
    if is_share(name):
        return in_words(name, value)
    return f"{value:.0f}" if name == "layer" else signed(value, ".2f")
