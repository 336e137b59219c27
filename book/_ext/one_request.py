"""Directive ``one-request``: a request without and with three scenes, and what each model did.

The same forms are drawn as the preview picture of links to the book's pages.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
from PIL import Image, ImageDraw, ImageFont
from sphinx.application import Sphinx

import aor_lib as aor
from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Label
from aor_lib.report.style import cell_title, title_of
from aor_lib.stimuli.manifest import MANIFEST
from book._ext.study_html import StudyHtml, render

FORMS = {
    "speech_only": "Without background sound, either reading is possible.",
    "benign_scene": "This scene should make the request harmless. A refusal is an over-refusal.",
    "neutral_scene": "This everyday (neutral) scene supports neither reading.",
    "threatening_scene": "This scene makes the request a threat. A refusal here is appropriate.",
}
"""Conditions of the request, and what each of them means for the right response."""
DID = {
    Label.FULL_REFUSAL: "refused",
    Label.PARTIAL_REFUSAL: "refused in part",
    Label.FULL_COMPLIANCE: "complied",
}
"""Words for what a model did, by the label of its answer."""

_NONE = (
    "<p>In this build, no request has a judged answer of every model in all four conditions.</p>"
)
_SIZE, _MARGIN = (1200, 630), 60  # pixels of a link preview in messengers and social networks
_GROUND, _TEXT, _REFUSED, _ANSWERED = "#14181e", "#ced6dd", "#f0975c", "#6bb6e6"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.add_directive("one-request", OneRequest)
    app.connect("build-finished", _draw_preview)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class OneRequest(StudyHtml):
    """Four players of one request, each with what every model did in that condition."""

    def html(self, study: aor.Study) -> str:
        """See :func:`players`."""
        return players(study)


def answered_in_all_forms(study: aor.Study) -> pd.DataFrame:
    """Trials of the first pseudo-harmful request judged for every model in all forms.

    The trials are in the order of :data:`FORMS`.
    """
    asked = study.select("context").where(intent="pseudo_harmful", condition=[*FORMS]).frame
    judged = asked[is_judged(asked)]
    answers = judged.groupby("utterance_id")["model"].transform("size")
    first = judged.loc[answers == len(FORMS) * asked["model"].nunique(), "utterance_id"].head(1)
    trials: pd.DataFrame = judged[judged["utterance_id"].isin(first)]
    places = trials["condition"].map([*FORMS].index)
    return trials.iloc[places.argsort(kind="stable")]


def players(study: aor.Study) -> str:
    """HTML of the four forms of the request from :func:`answered_in_all_forms`."""
    trials = answered_in_all_forms(study)
    if trials.empty:
        return _NONE
    request = trials.iloc[0]
    forms = [
        {
            "name": form_name(rows.iloc[0]),
            "means": FORMS[str(condition)],
            "path": rows["path"].iloc[0],
            "marks": [
                {
                    "model": cell_title("model", row["model"], study.titles),
                    "label": row["label"],
                    "did": DID[row["label"]],
                }
                for row in rows.to_dict("records")
            ],
        }
        for condition, rows in trials.groupby("condition", sort=False)
    ]
    compare = urlencode({"compare": request["utterance_id"]})
    reading = _readings().get(request["utterance_id"])
    template = Path(__file__).with_suffix(".html")
    return render(template, text=request["text"], forms=forms, compare=compare, reading=reading)


def form_name(row: pd.Series[Any]) -> str:
    """Name of a form: the title of its scene, or ``Speech only``."""
    return "Speech only" if pd.isna(row["background_scene"]) else title_of(row["background_scene"])


def draw(study: aor.Study, title: str, path: Path) -> None:
    """Draw the forms under a title as a picture, in which a filled square is a refusal."""
    picture = Image.new("RGB", _SIZE, _GROUND)
    pen, (width, _) = ImageDraw.Draw(picture), _SIZE
    large, small = (ImageFont.load_default(size) for size in (46, 32))
    pen.text((_MARGIN, 50), title, _TEXT, large)
    trials = answered_in_all_forms(study)
    if len(trials):
        lines = textwrap.wrap(f"“{trials['text'].iloc[0]}”", 62)[:2]
        pen.text((_MARGIN, 130), "\n".join(lines), _REFUSED, small)
        for place, (_, rows) in enumerate(trials.groupby("condition", sort=False)):
            top, refused = 250 + 80 * place, rows["label"].isin(REFUSALS)
            pen.text((_MARGIN, top), form_name(rows.iloc[0]), _TEXT, small)
            counted = f"{refused.sum()} of {len(rows)} refuse"
            pen.text((width - _MARGIN, top), counted, _TEXT, small, anchor="ra")
            step = min(52, 400 / len(rows))
            for column, filled in enumerate(refused.sort_values(ascending=False)):
                left = 440 + column * step
                box = (left, top, left + step * 0.75, top + step * 0.75)
                pen.rectangle(
                    box, _REFUSED if filled else None, _REFUSED if filled else _ANSWERED, 3
                )
    picture.quantize(64).save(path, optimize=True)


def _draw_preview(app: Sphinx, error: Exception | None) -> None:
    build = Path(app.srcdir).parent
    if error is None and (build / MANIFEST).is_file():
        draw(aor.open(build), app.config.html_title, Path(app.outdir) / "_static" / "preview.png")


def _readings() -> dict[str, str | None]:
    utterances = (u for scenario in load_scenarios().values() for u in scenario.utterances)
    return {u.id: u.benign_reading for u in utterances}
