"""The house style of the charts: names, colours and shapes that are the same everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import altair as alt

PALETTE = ("#0072B2", "#C65A11", "#009E73", "#B8609A", "#A67C00", "#6F6FC8", "#5E8C31")
"""Colour-blind safe (after Okabe and Ito); at least 3:1 on a white and on a near-black page."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

OUTCOMES = {
    "full_compliance": "#0072B2",
    "partial_refusal": "#A67C00",
    "full_refusal": "#C65A11",
    "unjudged": "#B8609A",
    "blocked": "#3A9BC1",
    "failed": "#757575",
    "missing": "#9A9A9A",
}
"""What can become of a trial, and its colour."""

TITLES = {
    "pseudo_harmful": "Over-refusal",
    "harmful": "Harmful refusal",
    "benign": "Plain refusal",
    "unlabelled": "Refusal (not labelled)",
    "matched": "Matched scene",
    "mismatched": "Mismatched scene",
    "noise": "Matched noise",
    "speech_only": "Speech only",
    "described": "Scene described",
    "text_only": "Text only",
    "none": "No mitigation",
}
"""What the page calls an id, in the order to show; other ids are shown without underscores."""

_NEUTRAL = "#757575"  # legible on white and on near-black; the book's script refines it
_OWN_STYLE = {"ref-permissive": 0, "ref-wordbound": 1, "ref-contextual": 2, "ref-emotive": 3}


def title_of(value: object, names: Mapping[str, str] | None = None) -> str:
    """What the page calls an id: from ``names``, else :data:`TITLES`, else the id in words."""
    text = str(value)
    words = text.replace("_", " ").replace(".control", ": control")
    return ({**TITLES, **(names or {})}).get(text, words[:1].upper() + words[1:])


def model_style(model: str) -> tuple[str, str]:
    """Colour and point shape of a model, from its id alone: the same in every chart and study."""
    digest = hashlib.sha256(model.encode()).digest()
    if model in _OWN_STYLE:
        return PALETTE[_OWN_STYLE[model]], SHAPES[_OWN_STYLE[model]]
    taken = len(_OWN_STYLE)
    colour = PALETTE[taken + digest[0] % (len(PALETTE) - taken)]
    return colour, SHAPES[digest[1] % len(SHAPES)]


@alt.theme.register("aor", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    text = {"labelColor": _NEUTRAL, "titleColor": _NEUTRAL, "labelFontSize": 12}
    axis = {"gridColor": _NEUTRAL, "gridOpacity": 0.25, "domain": False, "ticks": False}
    config: Any = {
        "background": "transparent",
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
        "view": {"stroke": None},
        "axis": text | axis | {"titleFontWeight": "normal", "labelPadding": 6, "labelLimit": 170},
        "axisY": {"grid": False},
        "axisQuantitative": {"grid": True, "tickCount": 5},
        "legend": text
        | {
            "orient": "top",
            "columns": 2,
            "labelLimit": 300,
            "title": None,
            "symbolSize": 80,
            "symbolOpacity": 1,
            "symbolBaseFillColor": _NEUTRAL,
        },
        "style": {"reference": {"color": _NEUTRAL, "stroke": _NEUTRAL, "opacity": 0.7}},
        "mark": {"aria": False},  # the figure carries the description, its table the numbers
    }
    return {"autosize": {"type": "fit-x", "contains": "padding"}, "config": config}
