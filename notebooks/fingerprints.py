"""Refusal expected from five behaviours in each condition, overlaid with the measured rates."""

import altair as alt
import pandas as pd

import aor_lib as aor
from aor_lib.report.display import Figure, Prose, nothing_for
from aor_lib.report.style import LOOK, cell_title, chart_title, looks, title_of

ALONE, SCENES = "speech_only", {"benign_scene", "neutral_scene", "threatening_scene"}
EVERY = {"pseudo_harmful", "harmful", "benign"}
BEHAVIOURS = ("Understands", "Is lulled", "Is distracted", "Ignores sound", "Is alarmed")
FALLS = {
    "Understands": ({"pseudo_harmful"}, {"benign_scene"}),
    "Is lulled": (EVERY, SCENES),
    "Is distracted": (EVERY, {*SCENES, "noise"}),
}
"""Intents that a model with the behaviour refuses less, and the conditions in which it does so."""
RISES = {"Is alarmed": (EVERY, {"threatening_scene"})}
CONDITIONS = (ALONE, "text_only", "noise", "neutral_scene", "benign_scene", "threatening_scene")
"""Conditions in display order; the behaviours predict nothing for scenes described in words."""
KEYS = ["model", "intent", "condition"]
RATES = ["expected", "rate", "low", "high"]


def expected(rates: aor.Estimates) -> pd.DataFrame:
    """Rates by model, intent and condition, with the rate ``expected`` from each behaviour.

    ``expected`` is 0 where the behaviour lowers refusal, 1 where it raises refusal, and otherwise
    the model's own rate for speech alone.
    """
    frame: pd.DataFrame = rates.frame[rates.frame["condition"].isin(CONDITIONS)]
    alone = frame[frame["condition"] == ALONE].set_index(["model", "intent"])["rate"]
    frame = frame.join(alone.rename("expected"), on=["model", "intent"])
    frame = frame.dropna(subset=["expected"])
    frame = frame.merge(pd.Series(BEHAVIOURS, name="behaviour"), how="cross")
    for effects, rate in ((FALLS, 0.0), (RISES, 1.0)):
        for behaviour, (intents, conditions) in effects.items():
            changed = frame["behaviour"].eq(behaviour) & frame["intent"].isin(intents)
            changed &= frame["condition"].isin(conditions)
            frame["expected"] = frame["expected"].mask(changed, rate)
    return frame.assign(distance=(frame["rate"] - frame["expected"]).abs())


def overlaid(rates: aor.Estimates, title: str) -> Figure | Prose:
    """Panels by model and behaviour: bars and lines are expected rates, points measured rates."""
    frame = expected(rates)
    if frame.empty:
        return nothing_for(title)
    shown = frame[["behaviour", *RATES]].copy()
    for column in KEYS:
        shown[column] = [cell_title(column, value, rates.titles) for value in frame[column]]
    shown["key"] = frame[KEYS].agg(" ".join, axis=1)
    heard = {"key": rates.frame[KEYS].agg(" ".join, axis=1)}
    heard["clips"] = [rates.clips(row) for row in rates.frame.to_dict("records")]
    table = pd.DataFrame(looks("intent", frame["intent"]), columns=["title", "colour", "shape"])
    intents = table["title"].tolist()
    colours, shapes = (
        alt.Scale(domain=intents, range=table[look].tolist()) for look in ("colour", "shape")
    )
    names = [title_of(condition) for condition in CONDITIONS]
    base = alt.Chart(shown).encode(
        x=alt.X("condition:N", sort=names, title=None, scale=alt.Scale(padding=0)),
        color=alt.Color("intent:N", scale=colours),
    )
    share = alt.Axis(format="~%", values=[0, 0.5, 1], grid=True)
    level = alt.Y("expected:Q", title=None, axis=share, scale=alt.Scale(domain=[0, 1]))
    is_sounding = alt.datum.intent == intents[0]
    tips = [alt.Tooltip(f"{name}:N", title=name.title()) for name in ("behaviour", *KEYS)]
    tips += [alt.Tooltip(f"{name}:Q", title=name.title(), format=".0%") for name in RATES]
    measured = base.encode(
        tooltip=tips, xOffset=alt.XOffset("intent:N", sort=intents, scale=alt.Scale(padding=0.5))
    )
    layers = alt.layer(
        base.transform_filter(is_sounding)
        .mark_bar(opacity=0.25, width={"band": 1})
        .encode(y=level),
        base.transform_filter(~is_sounding)
        .mark_tick(thickness=3, opacity=0.5, orient="horizontal", width={"band": 1})
        .encode(y=level),
        measured.mark_rule().encode(y="low:Q", y2="high:Q"),
        measured.mark_point(filled=True, size=26, opacity=1).encode(
            y="rate:Q", shape=alt.Shape("intent:N", scale=shapes), href="clips:N"
        ),
    )
    panels = layers.properties(width=110, height=90).facet(
        row=alt.Row("model:N", title=None, header=alt.Header(labelExpr="split(datum.label, ' ')")),
        column=alt.Column("behaviour:N", title=None, sort=BEHAVIOURS),
        spacing={"row": 14, "column": 10},
    )
    # Store each URL once instead of once per panel.
    panels = panels.transform_lookup("key", alt.LookupData(pd.DataFrame(heard), "key", ["clips"]))
    look = {name: LOOK[name] for name in ("usermeta", "config")}
    words = "Measured refusal rates of each model and the rates that five behaviours predict."
    shown_title = chart_title(title, frame["model"])
    return Figure(panels.to_dict() | look, shown_title, words, rates.rows())
