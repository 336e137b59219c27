"""A page for every clip, to link to or to embed in other pages.

Each page has a player, the clip's conditions and each model's answer without mitigation, and needs
no scripts. The answers to harmful requests are left out; only their labels are shown.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
import pandas as pd
from PIL import Image, ImageDraw

import aor_lib as aor
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.report.display import Html
from aor_lib.report.listening import facts, gallery
from book._ext.explorer import outline
from book._ext.published import properties, site_address

_SIZE = (1200, 630)  # pixels of a link preview in messengers and social networks
_GROUND, _INK = (20, 24, 30), (240, 151, 92)


def write_clip_pages(build: Path, folder: Path) -> None:
    """Write a page and a preview picture for every stimulus of a study to a new folder."""
    study = aor.open(build)
    stimuli, asked = study.stimuli, study.trials
    plain = asked[(asked["arm"] == "none") & (asked["method"] != "probe")]
    answers = {name: trials for name, trials in plain.groupby("stimulus_id")}
    folder.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("clip.css"), folder)
    template = jinja2.Template(Path(__file__).with_name("clip.html").read_text("utf-8"))
    for row in stimuli.to_dict("records"):
        name, stimulus = row["stimulus_id"], stimuli[stimuli["stimulus_id"] == row["stimulus_id"]]
        trials = answers.get(name, plain.head(0))
        if isinstance(row["path"], str):
            _draw(outline(build / row["path"]), folder / f"{name}.png")
        card = gallery(stimulus, "../clips", trials, study.titles)
        shown = _preview(row, trials, site_address())
        page = template.render(
            title=escape(shown["og:title"]),
            properties=properties(shown),
            card=card.html if isinstance(card, Html) else "",
            compare=urlencode({"compare": row["utterance_id"]}),
            only=escape(urlencode({"mitigation": "any", "stimulus_id": name})),
        )
        (folder / f"{name}.html").write_text(page, encoding="utf-8")


def _preview(row: Mapping[Any, Any], trials: pd.DataFrame, site: str) -> dict[str, str]:
    judged = trials[is_judged(trials)]
    refused = judged["label"].isin(REFUSALS).sum()
    verdict = f" Refused by {refused} of {len(judged)} models." if len(judged) else ""
    address = f"{site}clip/{quote(row['stimulus_id'])}"
    shown = {
        "og:type": "article",
        "og:title": f"“{row['text']}”",
        "og:description": f"{'. '.join(facts(row).values())}.{verdict}",
        "og:url": f"{address}.html",
    }
    if isinstance(row["path"], str):
        shown |= {"og:audio": f"{site}{quote(row['path'])}", "og:image": f"{address}.png"}
    return shown


def _draw(levels: str, path: Path) -> None:
    """Draw the outline of a sound as a picture."""
    picture = Image.new("P", _SIZE)
    picture.putpalette([*_GROUND, *_INK])
    pen, (width, height) = ImageDraw.Draw(picture), _SIZE
    step = (width - 120) / len(levels)
    for place, level in enumerate(levels):
        left, reach = 60 + place * step, max(3, int(level, 36) / 35 * (height / 2 - 90))
        pen.rectangle((left, height / 2 - reach, left + step * 0.6, height / 2 + reach), fill=1)
    picture.save(path, optimize=True)
