"""Titles, colours and point shapes of ids, and the theme of the charts: the same everywhere."""

import functools
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt

from aor_lib.analysis.results import model_titles
from aor_lib.analysis.selections import WORDS_ONLY
from aor_lib.analysis.splits import REFERENCE_MODELS
from aor_lib.config.params import PARAMS, load_scenarios
from aor_lib.config.prompts import Mitigation
from aor_lib.config.typed_yaml import read
from aor_lib.report.figures import signed
from aor_lib.steering.tables import METHODS

PALETTE = ("#0072B2", "#C65A11", "#009E73", "#B8609A", "#A67C00", "#6F6FC8", "#5E8C31")
"""Colour-blind safe (after Okabe and Ito); at least 3:1 on a white page."""

SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
    "wedge",
)

OUTCOMES = {
    "full_compliance": "#7B95A1",
    "partial_refusal": "#A2805F",
    "full_refusal": "#45505A",
    "unjudged": "#8A7FA8",
    "blocked": "#3A9BC1",
    "failed": "#757575",
    "missing": "#929292",
}
"""Outcomes of a trial, and their colours, none of them a model's."""

SHADES = ("#EEF3F8", "#5AB4EE")
"""Cells of a matrix, from nothing to all; :data:`INK` is legible on both."""
INK = "#101418"

DARK = {
    "#0072B2": "#5AB4EE",
    "#C65A11": "#F0975C",
    "#009E73": "#45CFA3",
    "#B8609A": "#E59BCB",
    "#A67C00": "#E0BE5A",
    "#6F6FC8": "#A9A9F5",
    "#5E8C31": "#A3D06F",
    "#7B95A1": "#93A9B3",
    "#A2805F": "#C9A988",
    "#45505A": "#E3E8EC",
    "#8A7FA8": "#BDB4D6",
    "#3A9BC1": "#86D3F2",
    "#757575": "#A8A8A8",
    "#929292": "#C4C4C4",
    SHADES[0]: "#1E2832",
    SHADES[1]: "#1F6FA8",
    INK: "#F4F6F8",
}
"""Colours of a dark page, by those that they replace there: at least 4.5:1 in contrast."""

TITLES = {
    "unseen_scene": "In the study of unseen scenes",
    "pseudo_harmful": "Over-refusal",
    "harmful": "Harmful refusal",
    "benign": "Benign refusal",
    "unlabelled": "Refusal (not labelled)",
    "benign_scene": "Benign scene",
    "neutral_scene": "Neutral scene",
    "threatening_scene": "Threatening scene",
    "noise": "Spectrum-matched noise",
    "speech_only": "Speech only",
    "described": "Scene described",
    "text_only": "Text only",
    "none": "No mitigation",
    "threatening_benign": "Threatening against benign scene",
    "neutral_benign": "Neutral against benign scene",
}
"""Titles of ids, in the order to show; other ids are shown without underscores."""

_NEUTRAL = "#757575"  # legible on white and on near-black; the book's script refines it


def title_of(value: object, names: Mapping[str, str] | None = None) -> str:
    """Title of an id: from ``names``, else :data:`TITLES`, else the id in words."""
    text = str(value)
    words = text.replace("_", " ").replace(".control", ": control")
    return ({**TITLES, **(names or {})}).get(text, words[:1].upper() + words[1:])


def cell_title(column: str, value: object, names: Mapping[str, str] | None = None) -> str:
    """Title of a value of a column: a model without a title keeps its id, numbers get a sign."""
    if isinstance(value, float):
        return signed(value, "g") + (" dB" if column.endswith("_db") else "")
    return (
        (names or {}).get(str(value), str(value)) if column == "model" else title_of(value, names)
    )


def titles(build: Path | str, models: Iterable[str]) -> dict[str, str]:
    """Titles of the ``models`` of a build, and of all scenarios and prompts, by their ids.

    Models come from imported cards, too: their titles are untrusted text.
    """
    prompts = [read(path, Mitigation) for path in sorted((PARAMS / "prompts").glob("*.yaml"))]
    arms = {arm.id: arm.title for prompt in prompts for arm in prompt.arms if not arm.is_none}
    words_only = {WORDS_ONLY: "Words only"}
    return scenario_titles() | arms | words_only | model_titles(build, sorted(set(models)))


@functools.cache
def scenario_titles() -> dict[str, str]:
    """Titles of the scenarios of ``params``, by their ids."""
    return {name: scenario.title for name, scenario in load_scenarios().items()}


def ordered(values: Iterable[Any], names: Mapping[str, str] | None = None) -> list[Any]:
    """Distinct values in the order of :data:`TITLES` and ``names``; others follow as they come."""
    known = list({**TITLES, **OUTCOMES, **(names or {})})
    return sorted(
        dict.fromkeys(values),
        key=lambda value: known.index(value) if value in known else len(known),
    )


class Series(NamedTuple):
    """Titles of the values of a column, in order, and their encodings in a chart."""

    titles: list[str]
    colour: alt.Color
    shape: alt.Shape


def series(column: str, ids: Iterable[str], names: Mapping[str, str] | None) -> Series:
    """Series of a chart; models, outcomes and steering methods have the same colour in all."""
    values = sorted(set(ids)) if column == "model" else ordered(ids, names)
    places = list(METHODS) if column == "method" else values
    colours = [OUTCOMES.get(v, PALETTE[places.index(v) % len(PALETTE)]) for v in values]
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(values))]
    if column == "model":
        colours, shapes = ([model_style(model)[part] for model in values] for part in (0, 1))
    shown = [cell_title(column, value, names) for value in values]
    return Series(
        shown,
        alt.Color(f"{column}:N", scale=alt.Scale(domain=shown, range=colours)),
        alt.Shape(f"{column}:N", scale=alt.Scale(domain=shown, range=shapes)),
    )


def model_style(model: str) -> tuple[str, str]:
    """Colour and point shape of a model, from its id alone: the same in every chart and study."""
    if model == WORDS_ONLY:
        return _NEUTRAL, "cross"
    digest = hashlib.sha256(model.encode()).digest()
    taken = len(REFERENCE_MODELS)
    if model in REFERENCE_MODELS:
        place = REFERENCE_MODELS.index(model)
        return PALETTE[place], SHAPES[place]
    colour = PALETTE[taken + digest[0] % (len(PALETTE) - taken)]
    return colour, SHAPES[digest[1] % len(SHAPES)]


@alt.theme.register("aor", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    text = {
        "labelColor": _NEUTRAL,
        "titleColor": _NEUTRAL,
        "labelFontSize": 12,
        "titleFontSize": 12,
    }
    axis = {"gridColor": _NEUTRAL, "gridOpacity": 0.25, "domain": False, "ticks": False}
    config: Any = {
        "background": "transparent",
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
        "view": {"stroke": None},
        "axis": text | axis | {"titleFontWeight": "normal", "labelPadding": 6, "labelLimit": 170},
        "axisY": {"grid": False},
        "axisQuantitative": {"grid": True, "tickCount": 5},
        "axisXQuantitative": {"labelOverlap": "parity", "labelFlush": False},
        "legend": text
        | {
            "orient": "top",
            "columns": 2,
            "labelLimit": 300,
            "title": None,
            "symbolSize": 80,
            "symbolOpacity": 1,
            "symbolBaseFillColor": _NEUTRAL,
            "symbolBaseStrokeColor": _NEUTRAL,
            # From the edge of the picture: beside long labels, a phone has no room for a legend.
            "layout": {place: {"anchor": "start", "bounds": "full"} for place in ("top", "bottom")},
        },
        "style": {"reference": {"color": _NEUTRAL, "stroke": _NEUTRAL, "opacity": 0.7}},
        "mark": {"aria": False},  # the figure carries the description, its table the numbers
    }
    autosize: Any = {"type": "fit-x", "contains": "padding"}
    return {"autosize": autosize, "config": config, "usermeta": {"dark": DARK}}
