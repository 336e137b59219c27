"""A page for every clip: to link to, and to embed in other pages.

Each has a player, the circumstances and what each model answered without a mitigation, without
scripts. The answers to harmful requests are left out, and only their labels are shown.
"""

from __future__ import annotations

import shutil
from html import escape
from pathlib import Path
from urllib.parse import quote, urlencode

import pandas as pd
from PIL import Image, ImageDraw

import aor_lib as aor
from aor_lib.report.display import Html
from aor_lib.report.listening import answer_of, facts, gallery
from book._ext.explorer import outline
from book._ext.published import properties

_SIZE = (1200, 630)  # what messengers and social networks show of a link
_GROUND, _INK = (20, 24, 30), (240, 151, 92)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{properties}
<link rel="stylesheet" href="../_static/aor.css">
<link rel="stylesheet" href="clip.css">
</head>
<body><main class="bd-article">
{card}
<p class="aor-clip-links">
<a target="_top" href="../explorer.html#{compare}">All forms of this request</a>
<a target="_top" href="../explorer.html#{only}">In the explorer</a>
<a target="_top" href="../index.html">What this is</a></p>
</main></body>
</html>
"""


def write_clip_pages(build: Path, folder: Path, site: str = "") -> None:
    """Write a page and a picture for every stimulus of a study.

    Parameters
    ----------
    build
        Folder of the study.
    folder
        Folder to make, beside that of the clips.
    site
        Address of the book with a slash at its end, for the previews; empty if it has none.
    """
    study = aor.open(build)
    stimuli, asked = study.stimuli, study.trials
    plain = asked[(asked["arm"] == "none") & (asked["method"] != "probe")]
    answers = {name: trials for name, trials in plain.groupby("stimulus_id")}
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("clip.css"), folder)
    for position, name in enumerate(stimuli["stimulus_id"]):
        one, trials = stimuli.iloc[[position]], answers.get(name, plain.head(0))
        card = gallery(one, "../clips", trials, study.titles)
        if isinstance(path := one["path"].iloc[0], str):
            _draw(outline(build / path), folder / f"{name}.png")
        page = _page(one, trials, card.html if isinstance(card, Html) else "", site)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")


def _page(one: pd.DataFrame, trials: pd.DataFrame, card: str, site: str) -> str:
    row = one.to_dict("records")[0]
    about = facts(row)
    outcomes = [answer_of({**row, **trial})["outcome"] for trial in trials.to_dict("records")]
    refused = sum(outcome.endswith("_refusal") for outcome in outcomes)
    verdict = f"Refused by {refused} of {len(outcomes)} models."
    title, address = f"“{row['text']}”", f"{site}clip/{quote(row['stimulus_id'])}"
    shown = {
        "og:type": "article",
        "og:title": title,
        "og:description": f"{'. '.join(about.values())}. {verdict}",
        "og:url": f"{address}.html",
    }
    if isinstance(row["path"], str):
        shown["og:audio"] = f"{site}{quote(row['path'])}"
        shown["og:image"] = f"{address}.png"
    return _PAGE.format(
        title=escape(title),
        properties=properties(shown),
        card=card,
        compare=escape(urlencode({"compare": row["utterance_id"]})),
        only=escape(urlencode({"mitigation": "any", "stimulus_id": row["stimulus_id"]})),
    )


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
