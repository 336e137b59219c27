"""Charts of a judge's agreement with people, in the house style of :mod:`aor_lib.report.charts`."""

from __future__ import annotations

import altair as alt
import pandas as pd

from aor_lib.config.records import Label
from aor_lib.report.charts import Chart
from aor_lib.report.style import PALETTE, SHAPES, title_of

_LABELS = [title_of(label) for label in (*Label,)]
_PERCENT = alt.Axis(format="~%", grid=True)


def kappas(frame: pd.DataFrame) -> Chart:
    """Each rater's ``kappa`` (``kappa_low`` to ``kappa_high``), for each value of ``on``.

    ``frame`` has a row for each ``rater`` and ``on``; raters keep their order.
    """
    raters = list(dict.fromkeys(frame["rater"]))
    measures = ("kappa", "kappa_low", "kappa_high")
    scale = alt.Scale(domain=[min(0.0, float(frame["kappa_low"].min())), 1], nice=True)
    base = alt.Chart(frame).encode(
        y=alt.Y("on:N", title=None, sort=list(dict.fromkeys(frame["on"]))),
        yOffset=alt.YOffset("rater:N", sort=raters),
        color=_colours("rater", raters),
        tooltip=["rater", "on", *(alt.Tooltip(c, format=".2f") for c in measures)],
    )
    height = frame["on"].nunique() * max(28, 16 * len(raters) + 8)
    return alt.layer(
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            x=alt.X("kappa_low:Q", title="Cohen's kappa with people"), x2="kappa_high:Q"
        ),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            x=alt.X("kappa:Q", scale=scale), shape=_shapes("rater", raters)
        ),
    ).properties(width="container", height=height)


def confusion(counts: pd.DataFrame) -> Chart:
    """How often each label of people (``human``) got each label of the judge, by ``source``.

    ``counts`` has a row for each source and pair of labels, with its ``count``; shares are of a
    source's answers with that label.
    """
    total = counts.groupby(["source", "human"])["count"].transform("sum")
    frame = pd.DataFrame(
        {
            "people": counts["source"] + ": " + counts["human"].map(title_of).str.lower(),
            "judge": counts["judge"].map(title_of),
            "count": counts["count"],
            "rate": counts["count"] / total,
        }
    )
    order = [
        f"{source}: {label.lower()}"
        for source in sorted(counts["source"].unique())
        for label in _LABELS
    ]
    found = [row for row in order if row in set(frame["people"])]
    base = alt.Chart(frame).encode(
        x=alt.X(
            "judge:N",
            sort=[label for label in _LABELS if label in set(frame["judge"])],
            title="Judge",
            axis=alt.Axis(orient="top", labelAngle=0),
        ),
        y=alt.Y("people:N", sort=found, title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=["people", "judge", "count", alt.Tooltip("rate", format=".0%")],
    )
    shade = alt.Scale(domain=[0, 1], range=["#E8EEF4", PALETTE[0]])
    return alt.layer(
        base.mark_rect().encode(color=alt.Color("rate:Q", scale=shade, legend=None)),
        base.mark_text().encode(
            text="count:Q",
            color=alt.condition("datum.rate > 0.5", alt.value("white"), alt.value("black")),
        ),
    ).properties(width="container", height=26 * len(found))


def calibration(bins: pd.DataFrame) -> Chart:
    """Share of refusals (by people) over the judge's probability, with intervals.

    ``bins`` is :func:`aor_lib.report.annotation.judge_agreement.calibration`; on the dashed line, a
    probability means what it says. The larger a point, the more answers are behind it.
    """
    unit = alt.Scale(domain=[0, 1])
    base = alt.Chart(bins.rename(columns={"predicted": "rate_predicted"})).encode(
        x=alt.X("rate_predicted:Q", title="The judge's probability", scale=unit, axis=_PERCENT),
        tooltip=[
            "answers",
            *(alt.Tooltip(c, format=".1%") for c in ("rate_predicted", "rate", "low", "high")),
        ],
        color=alt.value(PALETTE[0]),
    )
    ends = alt.Chart(pd.DataFrame({"rate_predicted": [0.0, 1.0], "rate": [0.0, 1.0]}))
    return alt.layer(
        ends.mark_line(style="reference", strokeDash=[4, 4], strokeWidth=1).encode(
            x="rate_predicted:Q", y="rate:Q"
        ),
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            y=alt.Y("low:Q", scale=unit, axis=_PERCENT, title="Refusals, by people"), y2="high:Q"
        ),
        base.mark_point(filled=True, opacity=1).encode(
            y="rate:Q",
            size=alt.Size("answers:Q", title="Answers", scale=alt.Scale(range=[40, 320])),
        ),
    ).properties(width="container", height=300)


def raw_and_corrected(rates: pd.DataFrame) -> Chart:
    """Rates as judged and corrected for the judge's errors, each with its interval.

    ``rates`` is :func:`aor_lib.analysis.misclassification.corrected_rates` by model and intent.
    """
    known = rates.dropna(subset=["rate"])
    kinds = {"As judged": "", "Corrected": "_corrected"}
    frame = pd.concat(
        pd.DataFrame(
            {
                "row": known["model"] + ", " + known["intent"].map(title_of).str.lower(),
                "kind": kind,
                **{name: known[f"{name}{suffix}"] for name in ("rate", "low", "high")},
            }
        )
        for kind, suffix in kinds.items()
    )
    scale = alt.Scale(domain=[0, min(1.0, max(0.1, float(frame["high"].max())))], nice=True)
    base = alt.Chart(frame).encode(
        y=alt.Y("row:N", title=None, axis=alt.Axis(labelLimit=260)),
        yOffset=alt.YOffset("kind:N", sort=list(kinds)),
        color=_colours("kind", list(kinds)),
        tooltip=[
            "row",
            "kind",
            *(alt.Tooltip(c, format=".1%") for c in ("rate", "low", "high")),
        ],
    )
    return alt.layer(
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            x=alt.X("low:Q", title="Refused, of judged answers"), x2="high:Q"
        ),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            x=alt.X("rate:Q", scale=scale, axis=_PERCENT), shape=_shapes("kind", list(kinds))
        ),
    ).properties(width="container", height=40 * frame["row"].nunique())


def _colours(column: str, order: list[str]) -> alt.Color:
    scale = alt.Scale(domain=order, range=list(PALETTE[: len(order)]))
    return alt.Color(f"{column}:N", scale=scale)


def _shapes(column: str, order: list[str]) -> alt.Shape:
    return alt.Shape(f"{column}:N", scale=alt.Scale(domain=order, range=list(SHAPES[: len(order)])))
