"""Harmful refusal against over-refusal: the trade-off that every mitigation moves a model in."""

from __future__ import annotations

import altair as alt
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.stats import iso_d_prime
from aor_lib.report.charts import (
    PERCENT,
    UNIT,
    Names,
    Shown,
    dashed_line,
    figure,
    reference,
    titled,
    tooltips,
)
from aor_lib.report.figures import in_words
from aor_lib.report.instrument import title_for
from aor_lib.report.markdown import nothing_for
from aor_lib.report.style import series

D_PRIMES = (1, 2, 3)
"""Sensitivities whose lines are drawn; that of 0 is the diagonal."""

DIAGONAL = pd.DataFrame({"orr": [0.0, 1.0], "hrr": [0.0, 1.0]})
X = alt.X("orr:Q", title="Over-refusal rate (lower is better)", scale=UNIT, axis=PERCENT)
Y = alt.Y("hrr:Q", title="Harmful-refusal rate (higher is better)", scale=UNIT, axis=PERCENT)


def tradeoff(
    rates: pd.DataFrame, *, title: str, shape: str = "model", names: Names = None
) -> Shown:
    """Harmful-refusal rate over over-refusal rate, with both intervals, over lines of equal d'.

    Along a line only the readiness to refuse changes; on the dashed one, d' = 0, what only sounds
    harmful is refused as often as what is.

    Parameters
    ----------
    rates
        :func:`aor_lib.analysis.stats.rates` by model and intent, and by ``shape`` where a model has
        several points (as for mitigations).
    """
    points = pairs(rates).dropna()
    if points.empty:
        return nothing_for(title)
    shown = titled(points, {"model", shape}, names)
    base = alt.Chart(shown).encode(
        x=X,
        y=Y,
        color=series("model", points["model"], names).colour,
        tooltip=tooltips(shown),
    )
    shapes = series(shape, points[shape], names).shape
    if shape != "model":
        shapes = shapes.legend(orient="bottom")
    chart = alt.layer(
        *_lines_of_equal_sensitivity(),
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(x="orr_low:Q", x2="orr_high:Q"),
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(y="hrr_low:Q", y2="hrr_high:Q"),
        base.mark_point(filled=True, size=110, opacity=0.9).encode(shape=shapes),
    )
    words = (
        f"{', '.join(dict.fromkeys([row['model'], row[shape]]))}: over-refusal "
        f"{in_words('orr', row['orr'])}, harmful refusal {in_words('hrr', row['hrr'])}"
        for row in shown.to_dict("records")
    )
    return figure(chart, title_for(rates, title), "; ".join(words), 380)


def pairs(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates by intent and other columns as one row per point: ``orr``, ``hrr``, their limits.

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
    lines = reference(iso_d_prime(D_PRIMES).round(4), "iso_d_prime")
    middles = pd.DataFrame({"d_prime": D_PRIMES}).assign(
        orr=lambda rows: norm.cdf(-rows["d_prime"] / 2),
        hrr=lambda rows: norm.cdf(rows["d_prime"] / 2),
        label=lambda rows: [f"d\N{PRIME} = {d_prime}" for d_prime in rows["d_prime"]],
    )
    labels = reference(middles, "labels").mark_text(
        style="reference", strokeOpacity=0, opacity=1, align="left", dx=5, dy=9
    )
    return [
        dashed_line(DIAGONAL, "orr", "hrr"),
        lines.mark_line(style="reference", strokeWidth=1, interpolate="monotone").encode(
            x="orr:Q", y="hrr:Q", detail="d_prime:N"
        ),
        labels.encode(x="orr:Q", y="hrr:Q", text="label:N"),
    ]
