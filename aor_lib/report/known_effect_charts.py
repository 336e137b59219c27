"""Charts that show known effects found again by the study."""

from __future__ import annotations

import altair as alt
import pandas as pd

from aor_lib.analysis.known_effects import TITLES
from aor_lib.analysis.stats.sample_size import POWER
from aor_lib.report.charts import Chart
from aor_lib.report.style import SHAPES, model_style


def recovery(by_size: pd.DataFrame) -> Chart:
    """Share of studies that find each planted effect, over their size in utterances.

    ``by_size`` is :func:`aor_lib.analysis.power_simulation.recovery_by_size`. The dashed line is
    the power that a study is planned for.
    """
    frame = by_size.assign(effect=by_size["model"] + ", " + by_size["comparison"].map(TITLES))
    models = frame.groupby("effect")["model"].first()
    effects = list(models.index)
    colours = [model_style(model)[0] for model in models]
    sizes = alt.Axis(values=sorted(frame["utterances"].unique().tolist()))
    base = alt.Chart(frame).encode(
        x=alt.X(
            "utterances:Q", title="Utterances", scale=alt.Scale(type="log", nice=False), axis=sizes
        ),
        color=alt.Color(
            "effect:N",
            scale=alt.Scale(domain=effects, range=colours),
            legend=alt.Legend(columns=1, labelLimit=300),
        ),
        # Effects of one member share its colour.
        shape=alt.Shape(
            "effect:N", scale=alt.Scale(domain=effects, range=list(SHAPES[: len(effects)]))
        ),
        tooltip=[
            alt.Tooltip("effect:N"),
            alt.Tooltip("utterances:Q"),
            *(alt.Tooltip(f"{name}:Q", format=".1%") for name in ("rate", "low", "high")),
        ],
    )
    unit = alt.Scale(domain=[0, 1])
    share = alt.Y("rate:Q", title="Studies that find it", scale=unit, axis=alt.Axis(format="~%"))
    planned = alt.Chart(pd.DataFrame({"power": [POWER]})).mark_rule(
        style="reference", strokeDash=[4, 4]
    )
    return alt.layer(
        planned.encode(y="power:Q"),
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=share, shape=alt.ShapeValue("stroke")),
        base.mark_point(filled=True, size=70, opacity=1).encode(y=share),
    ).properties(width="container", height=280)
