"""Titles and colours of ids, and the look of the charts: the same in every chapter and study."""

import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from aor_lib.analysis.results import load_cards
from aor_lib.analysis.selections import REFERENCE_MODELS, WORDS_ONLY
from aor_lib.config.params import PARAMS, load_model_cards, load_prompts, load_scenarios
from aor_lib.config.records import Condition, Intent, Label, Status
from aor_lib.report.measures import signed

LOOK: dict[str, Any] = json.loads(Path(__file__).with_name("look.json").read_text("utf-8"))
"""Parts of the Vega-Lite specification of every chart."""
DARK: dict[str, str] = LOOK["usermeta"]["dark"]
"""Colours of a dark page, by the colour that each replaces; contrast is at least 4.5:1."""
PALETTE = tuple(DARK)  # colour-blind safe (after Okabe and Ito); at least 3:1 on a white page
_TRIANGLES = tuple(f"triangle-{side}" for side in ("up", "down", "left", "right"))
SHAPES = ("circle", "square", "diamond", "cross", *_TRIANGLES)
NEUTRAL = "#757575"  # legible on white and on near-black
OUTCOMES = tuple(map(str, (*Label, Status.BLOCKED, Status.FAILED, "missing")))  # of a trial

_TITLES = yaml.safe_load((PARAMS / "titles.yaml").read_text("utf-8"))
METHODS: dict[str, str] = _TITLES["methods"]
"""Titles of the steering methods; each method has the same colour in all charts."""
TITLES: dict[str, str] = METHODS | _TITLES["others"]
"""Titles of ids and columns; other ids are shown without underscores."""
_ORDER = [*METHODS, *Intent, *Condition, *TITLES, *OUTCOMES]


def title_of(value: object, titles: Mapping[str, str] | None = None) -> str:
    """Title of an id: from ``titles``, else :data:`TITLES`, else the id in words."""
    text = str(value)
    words = text.replace("_", " ").replace(".control", ": control")
    return (TITLES | dict(titles or {})).get(text, words[:1].upper() + words[1:])


def cell_title(column: str, value: object, titles: Mapping[str, str] | None = None) -> str:
    """Title of a value in a column: a model without a title keeps its id, decibels get a unit."""
    if isinstance(value, bool):
        return title_of(column) if value else f"Not {column.replace('_', ' ')}"
    if isinstance(value, float):
        return signed(value, "g") + (" dB" if column.endswith("_db") else "")
    if column in ("model", "against"):
        return (TITLES | dict(titles or {})).get(str(value), str(value))
    return title_of(value, titles)


def titled(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Replace the ids in a frame's columns, index and cells by their titles."""

    def words(value: Any) -> Any:
        is_id = isinstance(value, str) and (value in titles or re.fullmatch(r"[a-z][\w ,]*", value))
        return title_of(value, titles) if is_id else value

    named = frame.rename(index=words, columns=words).map(words)
    return named.rename_axis(index=words, columns=words)


def in_words(
    row: Mapping[Any, Any], keys: Iterable[str], titles: Mapping[str, str] | None = None
) -> str:
    """Describe a row's keys in words, such as 'Context-aware, speech only against benign scene'."""
    words = ""
    for key in keys:
        title = cell_title(key, row[key], titles)
        if words and key not in ("model", "against") and not title[1:2].isupper():
            title = title[:1].lower() + title[1:]
        link = " against " if key in ("baseline", "against") else ", "
        words += f"{link}{title}" if words else title
    return words


def titles(build: Path | str, models: Iterable[str]) -> dict[str, str]:
    """Titles of models (untrusted text), scenarios and prompts, by their ids.

    Models that share a title have their ids added.
    """
    prompts, cards = load_prompts(), load_cards(build)
    arms = {arm.id: arm.title for prompt in prompts for arm in prompt.arms if not arm.is_none}
    own = {model: cards[model].title.strip() if model in cards else "" for model in models}
    times = Counter(own.values())
    named = {
        model: f"{title} ({model})" if title and times[title] > 1 else title or model
        for model, title in sorted(own.items())
    }
    return scenario_titles() | arms | named


@functools.cache
def scenario_titles() -> dict[str, str]:
    """Titles of the scenarios of ``params``, by their ids."""
    return {name: scenario.title for name, scenario in load_scenarios().items()}


def ordered(values: Iterable[Any], titles: Mapping[str, str] | None = None) -> list[Any]:
    """Distinct values in the order of the design and ``titles``; others in order of appearance."""
    known = [*_ORDER, *(titles or ())]
    places = {value: known.index(value) if value in known else len(known) for value in values}
    return sorted(places, key=lambda value: places[value])


def looks(
    column: str, values: Iterable[Any], titles: Mapping[str, str] | None = None
) -> list[tuple[str, str, str]]:
    """Title, colour and point shape of each value of a column, in display order."""
    if column == "model":
        models = sorted(set(values))
        look = _model_looks(models)
        return [(cell_title(column, model, titles), *look[model]) for model in models]
    shown = ordered(values, titles)
    places = list(METHODS) if column == "method" else shown
    colours = {value: PALETTE[places.index(value) % len(PALETTE)] for value in shown}
    colours |= {"not_asked": NEUTRAL}
    return [
        (cell_title(column, value, titles), colours[value], SHAPES[place % len(SHAPES)])
        for place, value in enumerate(shown)
    ]


def _model_looks(models: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Distinct colours and shapes, set by the model's id unless another model has them."""
    taken = dict(zip(REFERENCE_MODELS, zip(PALETTE, SHAPES, strict=False), strict=False))
    taken[WORDS_ONLY] = (NEUTRAL, "triangle-down")
    of_id = [(colour, shape) for colour in PALETTE for shape in SHAPES]
    for model in (*load_model_cards(), *models):  # those with a card have the same in every chart
        first = int(hashlib.sha256(model.encode()).hexdigest(), 16) % len(of_id)
        free = (look for look in of_id[first:] + of_id[:first] if look not in taken.values())
        taken.setdefault(model, next(free, of_id[first]))
    return taken


def chart_title(title: str, models: Iterable[str]) -> str:
    """Title of a chart, with the prefix 'Reference models' if it shows no other model."""
    asked = set(models) - {WORDS_ONLY}
    check = asked and asked <= set(REFERENCE_MODELS)
    first = title[:1] if title[1:2].isupper() else title[:1].lower()  # ORR stays as it is
    return f"Reference models: {first}{title[1:]}" if check else title
