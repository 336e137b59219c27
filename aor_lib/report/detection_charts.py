"""Harmful refusal against over-refusal: the trade-off that every mitigation moves a model in."""

import altair as alt
import pandas as pd
from scipy.stats import norm

from aor_lib.analysis.selections import NO_MITIGATION
from aor_lib.analysis.stats import iso_d_prime
from aor_lib.report.drawing import (
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


def tradeoff(rates: pd.DataFrame, *, title: str, names: Names = None) -> Shown:
    """Harmful-refusal rate over over-refusal rate, with both intervals, over lines of equal d'.

    Along a line only the readiness to refuse changes; on the dashed one, d' = 0, what only sounds
    harmful is refused as often as what is. ``rates`` are by model and intent.
    """
    points = pairs(rates).dropna()
    if points.empty:
        return nothing_for(title)
    shown = titled(points, ["model"], names)
    models = series("model", points["model"], names)
    base = alt.Chart(shown).encode(x=X, y=Y, color=models.colour, tooltip=tooltips(shown))
    chart = alt.layer(
        *_lines_of_equal_sensitivity(),
        *_intervals(base),
        base.mark_point(filled=True, size=110, opacity=0.9).encode(shape=models.shape),
    )
    return figure(chart, title_for(rates, title), in_words_of(shown, "model"), 380)


def moves(rates: pd.DataFrame, arm: str, *, title: str, names: Names = None) -> Shown:
    """The trade-off of one model: where each arm takes it from where it is without one.

    An arrow that grows towards an arm leads there from ``none``. ``rates`` are by the column
    ``arm`` and intent.
    """
    points = pairs(rates).dropna()
    if points.empty:
        return nothing_for(title)
    shown = titled(points, [arm], names)
    arms = series(arm, points[arm], names)
    base = alt.Chart(shown).encode(x=X, y=Y, color=arms.colour, tooltip=tooltips(shown))
    start = shown[points[arm] == NO_MITIGATION].assign(width=0)
    others = shown[points[arm] != NO_MITIGATION].assign(width=1)
    starts = start.drop(columns=arm).merge(others[[arm]], how="cross")
    arrows = reference(pd.concat([starts, others])[["orr", "hrr", arm, "width"]], "arrows")
    chart = alt.layer(
        *_lines_of_equal_sensitivity(),
        *_intervals(base.encode(opacity=alt.value(0.35))),
        arrows.mark_trail(opacity=0.5).encode(
            x=X,
            y=Y,
            color=arms.colour,
            detail=f"{arm}:N",
            order="width:Q",
            size=alt.Size("width:Q", scale=alt.Scale(range=[0.5, 5]), legend=None),
        ),
        # Hollow: arms that end at one point are told apart by their shapes.
        base.mark_point(filled=False, size=130, strokeWidth=2.5, opacity=1).encode(
            shape=arms.shape
        ),
    )
    return figure(chart, title_for(rates, title), in_words_of(shown, arm), 380)


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


def _intervals(base: alt.Chart) -> list[alt.Chart]:
    rule = base.mark_rule(strokeWidth=2, opacity=0.6)
    return [
        rule.encode(x="orr_low:Q", x2="orr_high:Q"),
        rule.encode(y="hrr_low:Q", y2="hrr_high:Q"),
    ]


def in_words_of(shown: pd.DataFrame, column: str) -> str:
    """Both rates of each point, by what is in a column."""
    return "; ".join(
        f"{row[column]}: over-refusal {in_words('orr', row['orr'])}, harmful refusal "
        f"{in_words('hrr', row['hrr'])}"
        for row in shown.to_dict("records")
    )


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
