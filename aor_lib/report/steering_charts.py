"""Charts of steering's estimates on ``dev``, from the tables of :mod:`aor_lib.steering.tables`.

``sweep`` is the table :data:`aor_lib.steering.tables.LAYER_SWEEP` of one model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
from IPython.display import display

from aor_lib.report.charts import Shown, dose_response
from aor_lib.report.detection_charts import coefficient_path
from aor_lib.report.markdown import nothing_for
from aor_lib.steering.tables import METHODS

_MEASURES = {"orr": "Over-refusal", "hrr": "Harmful refusal"}


def for_each_model(
    draw: Callable[..., Shown], table: pd.DataFrame, title: str, names: Mapping[str, str]
) -> None:
    """Display ``draw(rows, title=...)`` of each model's rows, or a note where there are none."""
    if table.empty:
        display(nothing_for(title))
    for model, rows in table.groupby("model"):
        display(draw(rows, title=f"{title}: {names.get(str(model), model)}"))


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
    return coefficient_path(points, title=title, names=METHODS)
