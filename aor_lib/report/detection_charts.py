"""The trade-off between over-refusal and harmful refusal, in the house style."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.stats import iso_d_prime
from aor_lib.report.charts import (
    PERCENT,
    Chart,
    model_colour,
    model_shape,
    reference,
    titled_models,
    tooltips,
)
from aor_lib.report.style import title_of

D_PRIMES = (1, 2, 3)
"""Sensitivities whose lines are drawn; that of 0 is the diagonal."""

_UNIT = alt.Scale(domain=[0, 1])
_ACROSS, _UP = "Over-refusal rate (lower is better)", "Harmful-refusal rate (higher is better)"


def tradeoff(
    rates: pd.DataFrame, *, shape: str = "model", names: Mapping[str, str] | None = None
) -> Chart:
    """Harmful-refusal rate over over-refusal rate, with both intervals, over lines of equal d'.

    ``rates`` is by model and intent, and by ``shape`` where a model has several points (as for
    mitigations). Along a line only the readiness to refuse changes; on the dashed one, d' = 0,
    what only sounds harmful is refused as often as what is. ``names`` gives titles to ids.
    """
    points = pairs(rates).dropna()
    titled = titled_models(points, names)
    if shape != "model":
        titled[shape] = [title_of(value, names) for value in points[shape]]
    base = alt.Chart(titled).encode(
        x=alt.X("orr:Q", title=_ACROSS, scale=_UNIT, axis=PERCENT),
        y=alt.Y("hrr:Q", title=_UP, scale=_UNIT, axis=PERCENT),
        color=model_colour(points["model"], names),
        tooltip=tooltips(titled),
    )
    marker = model_shape(points["model"], names)
    if shape != "model":
        marker = alt.Shape(f"{shape}:N", legend=alt.Legend(orient="bottom"))
    return alt.layer(
        *_lines_of_equal_sensitivity(),
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(x=alt.X("orr_low:Q"), x2="orr_high:Q"),
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(y=alt.Y("hrr_low:Q"), y2="hrr_high:Q"),
        base.mark_point(filled=True, size=110, opacity=0.9).encode(shape=marker),
    ).properties(width="container", height=380)


def pairs(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates by intent and other columns as one row a point: ``orr``, ``hrr``, their limits.

    The limits are ``orr_low``, ``orr_high``, ``hrr_low`` and ``hrr_high``. A rate is NaN where
    nothing of its intent was judged.
    """
    keys = list(rates.columns[: rates.columns.get_loc("trials")].drop("intent"))
    columns = []
    for measure, intent in {"orr": "pseudo_harmful", "hrr": "harmful"}.items():
        rows = rates[rates["intent"] == intent].set_index(keys)[["rate", "low", "high"]]
        columns.append(rows.set_axis([measure, f"{measure}_low", f"{measure}_high"], axis=1))
    return pd.concat(columns, axis=1).sort_index().reset_index()


def _lines_of_equal_sensitivity() -> list[alt.Chart]:
    diagonal = reference(iso_d_prime([0], points=2), "diagonal")
    lines = reference(iso_d_prime(D_PRIMES).round(4), "iso_d_prime")
    middles = pd.DataFrame({"d_prime": D_PRIMES}).assign(
        orr=lambda rows: norm.cdf(-rows["d_prime"] / 2),
        hrr=lambda rows: norm.cdf(rows["d_prime"] / 2),
        label=lambda rows: [f"d\N{PRIME} = {d_prime}" for d_prime in rows["d_prime"]],
    )
    across, up = alt.X("orr:Q"), alt.Y("hrr:Q")
    labels = reference(middles, "labels").mark_text(
        style="reference", strokeOpacity=0, opacity=1, align="left", dx=5, dy=9
    )
    return [
        diagonal.mark_line(style="reference", strokeDash=[4, 4], strokeWidth=1).encode(across, up),
        lines.mark_line(style="reference", strokeWidth=1, interpolate="monotone").encode(
            across, up, detail="d_prime:N"
        ),
        labels.encode(across, up, text="label:N"),
    ]
