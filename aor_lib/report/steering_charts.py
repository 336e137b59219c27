"""Charts of steering and the chosen point in words, from :mod:`aor_lib.steering.tables`."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from aor_lib.report.charts import PERCENT, Chart, reference
from aor_lib.report.figures import signed
from aor_lib.report.style import PALETTE
from aor_lib.steering.tables import METHODS

KINDS = {"pseudo_harmful": "Only sounds harmful", "harmful": "Harmful", "benign": "Benign"}

_UNIT = alt.Scale(domain=[0, 1])
_KEPT = "Harmful-refusal rate (higher is better)"
_LEFT = "Over-refusal rate (lower is better)"


def layer_scan(scan: pd.DataFrame) -> Chart:
    """Estimated rates over the layer: additions once their length away from refusal, and ablation.

    Solid lines are over-refusal, dashed ones harmful refusal. ``scan`` is of one model, with the
    columns ``method``, ``layer``, ``coefficient``, ``lam``, ``orr`` and ``hrr``.
    """
    plain = scan["coefficient"].eq(-1) | (scan["coefficient"].isna() & scan["lam"].eq(1))
    frame = scan[plain].melt(["method", "layer"], ["orr", "hrr"], "measure", "rate")
    frame = frame.assign(
        measure=frame["measure"].map({"orr": "Over-refusal", "hrr": "Harmful refusal"}),
        method=frame["method"].map(METHODS),
    )
    lines: alt.Chart = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=50))
        .encode(
            x=alt.X("layer:Q", title="Layer", scale=alt.Scale(zero=False, padding=12)),
            y=alt.Y("rate:Q", title="Estimated rate", scale=_UNIT, axis=PERCENT),
            color=_colour(frame["method"]),
            strokeDash=alt.StrokeDash(
                "measure:N",
                scale=alt.Scale(domain=["Over-refusal", "Harmful refusal"], range=[[1, 0], [4, 4]]),
                legend=alt.Legend(orient="bottom", symbolType="stroke", symbolSize=300),
            ),
            tooltip=["method", "layer", "measure", alt.Tooltip("rate:Q", format=".1%")],
        )
        .properties(width="container", height=280)
    )
    return lines


def path(scan: pd.DataFrame) -> Chart:
    """Estimated rates of each method, as its coefficient goes from 0 away from refusal.

    One line a layer at which several coefficients were looked at; ablations are points. ``scan`` is
    that of :func:`layer_scan`, with its row without steering.
    """
    none = scan[scan["method"] == "none"]
    tried = scan.groupby(["method", "layer"])["coefficient"].transform("nunique")
    several = scan[tried > 1]
    starts = (
        several[["method", "layer"]]
        .drop_duplicates()
        .merge(none[["coefficient", "orr", "hrr"]], how="cross")
    )
    frame = pd.concat([starts, several, scan[scan["method"] == "false_refusal_ablation"]])
    frame = frame.assign(method=frame["method"].map(METHODS), order=-frame["coefficient"])
    base = alt.Chart(frame).encode(
        x=alt.X("orr:Q", title=_LEFT, scale=_UNIT, axis=PERCENT),
        y=alt.Y("hrr:Q", title=_KEPT, scale=_UNIT, axis=PERCENT),
        color=_colour(frame["method"]),
        tooltip=[
            *("method", "layer", "coefficient", "lam"),
            *(alt.Tooltip(f"{rate}:Q", format=".1%") for rate in ("orr", "hrr")),
        ],
    )
    lines = base.transform_filter("isValid(datum.coefficient)").mark_line(strokeWidth=2)
    return alt.layer(
        lines.encode(detail="layer:N", order="order:Q"),
        base.mark_point(filled=True, size=50, opacity=0.9),
        _diagonal(),
    ).properties(width="container", height=320)


def histograms(projections: pd.DataFrame, axis: str, bins: int = 24) -> Chart:
    """How the requests of each intent lie along a direction, as shares of that intent.

    ``projections`` has the columns ``intent`` and ``projection``; it is binned here, so that a page
    carries only counts.
    """
    edges = np.histogram_bin_edges(projections["projection"].to_numpy(float), bins)
    parts = []
    for intent, title in KINDS.items():
        values = projections.loc[projections["intent"] == intent, "projection"].to_numpy(float)
        if len(values):
            share = np.histogram(values, edges)[0] / len(values)
            parts.append(
                pd.DataFrame({"from": edges[:-1], "to": edges[1:], "share": share, "intent": title})
            )
    frame = pd.concat(parts)
    titles = [title for title in KINDS.values() if title in set(frame["intent"])]
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_area(interpolate="step-after", opacity=0.35, line={"strokeWidth": 2})
        .encode(
            x=alt.X("from:Q", title=axis),
            y=alt.Y("share:Q", title="Share of requests", stack=None, axis=PERCENT),
            color=alt.Color("intent:N", scale=alt.Scale(domain=titles, range=[*PALETTE[:3]])),
            tooltip=["intent", "from", "to", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width="container", height=220)
    )
    return chart


def described(point: pd.Series[Any]) -> str:
    """The chosen row of :data:`POINTS` of a model, in words."""
    where = f"layer {point['layer']:.0f}"
    if pd.notna(point["coefficient"]):
        where += f", coefficient {signed(point['coefficient'], 'g')}"
    if pd.notna(point["gate_layer"]):
        where += f", behind a gate at layer {point['gate_layer']:.0f}"
    kept = "" if point["within"] else " No point kept the loss of harmful refusal within its limit."
    return f"{METHODS[point['method']].lower()} ({where}).{kept}"


def _titles(methods: pd.Series[str]) -> list[str]:
    found = set(methods)
    return [title for title in METHODS.values() if title in found]


def _colour(methods: pd.Series[str]) -> alt.Color:
    titles = _titles(methods)
    colours = dict(zip(METHODS.values(), PALETTE, strict=True))
    scale = alt.Scale(domain=titles, range=[colours[title] for title in titles])
    return alt.Color("method:N", scale=scale, legend=alt.Legend(columns=3))


def _diagonal() -> alt.Chart:
    ends = reference(pd.DataFrame({"orr": [0.0, 1.0], "hrr": [0.0, 1.0]}), "diagonal")
    chart: alt.Chart = ends.mark_line(style="reference", strokeDash=[4, 4], strokeWidth=1).encode(
        x="orr:Q", y="hrr:Q"
    )
    return chart
