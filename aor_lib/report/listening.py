"""Clips to listen to, each with what was said, in which scene, and what the models answered.

The cards are plain HTML that works from a file, from a server and in a notebook. Everything shown
is escaped: answers are untrusted text. Answers to harmful utterances are never shown, only their
labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

import pandas as pd

from aor_lib.config.records import Intent, Label, Status
from aor_lib.report.style import title_of

INTENTS: dict[str, str] = {
    Intent.PSEUDO_HARMFUL: "Only sounds harmful",
    Intent.HARMFUL: "Harmful",
    Intent.BENIGN: "Plainly benign",
    Intent.UNLABELLED: "Not labelled",
}


@dataclass(frozen=True)
class Html:
    """HTML that notebooks and the book display as it is."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


def player(
    row: Mapping[str, Any], clip_url: str, answers: pd.DataFrame | None = None, level: int = 3
) -> Html:
    """A card for one stimulus.

    Parameters
    ----------
    row
        A manifest row. A stimulus without audio shows the text that the models read.
    clip_url
        Address of the folder of clips, as seen from the page.
    answers
        The rows of :func:`aor_lib.analysis.results.load_results` for this stimulus.
    level
        Heading level of the card's title.
    """
    harmful = row["intent"] == Intent.HARMFUL
    answered = [] if answers is None else _records(answers)
    items = "".join(_answer(answer, harmful) for answer in answered)
    shown = f'<ul class="aor-answers">{items}</ul>' if items else ""
    return Html(
        f'<article class="aor-clip" data-scenario="{escape(row["scenario"])}"'
        f' data-condition="{escape(row["condition"])}" data-intent="{escape(row["intent"])}">'
        f'<h{level} class="aor-clip-said">“{escape(row["text"])}”</h{level}>'
        f"{_sound(row, clip_url)}{_facts(row)}"
        f"{shown}</article>"
    )


def gallery(
    frame: pd.DataFrame,
    clip_url: str,
    results: pd.DataFrame | None = None,
    limit: int | None = None,
) -> Html:
    """Cards of the stimuli in ``frame``, in its order, with the answers found in ``results``.

    The book adds filters by scenario and condition. At most ``limit`` cards are made; None: all.
    """
    if frame.empty:
        return Html("<p>This build holds no such clips.</p>")
    rows = _records(frame.head(limit) if limit is not None else frame)
    answers = {} if results is None else dict(list(results.groupby("stimulus_id", sort=False)))
    cards = [player(row, clip_url, answers.get(row["stimulus_id"])).html for row in rows]
    return Html(f'<div class="aor-gallery">{"".join(cards)}</div>')


def _sound(row: Mapping[str, Any], clip_url: str) -> str:
    path = _known(row, "path")
    if path is None:
        text = _known(row, "presented_text") or row["text"]
        return f'<p class="aor-clip-read"><b>Read, not heard:</b> {escape(text)}</p>'
    source = f"{clip_url.rstrip('/')}/{quote(str(path).removeprefix('clips/'))}"
    return (
        f'<audio controls preload="none" src="{escape(source)}"'
        f' data-duration="{row["duration_s"]:.3f}" data-sha256="{escape(row["sha256"])}"'
        f' aria-label="{escape(title_of(row["condition"]))}: {escape(row["text"])}">'
        "</audio>"
    )


def _facts(row: Mapping[str, Any]) -> str:
    scene, snr, duration = (
        _known(row, name) for name in ("background_scene", "snr_db", "duration_s")
    )
    voice = [
        str(_known(row, name))
        for name in ("voice", "emotion", "rate")
        if _known(row, name) not in (None, "neutral")
    ]
    facts = {
        "Intent": title_of(row["intent"], INTENTS),
        "Condition": title_of(row["condition"]),
        "Scene": None if scene is None else str(scene).replace("_", " "),
        "SNR": None if snr is None else f"{snr:g} dB",
        "Voice": ", ".join(voice) or None,
        "Duration": None if duration is None else f"{duration:.1f} s",
    }
    items = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>"
        for name, value in facts.items()
        if value is not None
    )
    return f'<dl class="aor-clip-facts">{items}</dl>'


def _answer(answer: Mapping[str, Any], harmful: bool) -> str:
    who = str(answer["model"])
    if answer["mitigation"] != "none":
        who += f", {str(answer['mitigation']).replace('_', ' ')}"
    failed = answer["status"] != Status.OK
    label = str(answer["status"]) if failed else str(_known(answer, "label") or Label.UNJUDGED)
    title = title_of(label)
    return (
        f'<li><span class="aor-model">{escape(who)}</span> '
        f'<span class="aor-label" data-label="{escape(label)}">{escape(title)}</span>'
        f"{_answer_text(answer, harmful, failed)}</li>"
    )


def _answer_text(answer: Mapping[str, Any], harmful: bool, failed: bool) -> str:
    if harmful:
        return ""
    text = _known(answer, "error" if failed else "response")
    heard = _heard(_known(answer, "heard"))
    return (f'<p class="aor-heard">Heard: {escape(heard)}</p>' if heard else "") + (
        f'<p class="aor-said">{escape(str(text))}</p>' if text is not None else ""
    )


def _heard(heard: Any) -> str:
    """What a model says that it heard: JSON such as ``{"transcript": ..., "scene": ...}``."""
    if heard is None:
        return ""
    try:
        parts = json.loads(heard) if isinstance(heard, str) else heard
    except json.JSONDecodeError:
        return str(heard)
    if not isinstance(parts, Mapping):
        return str(parts)
    known = {name: value for name, value in parts.items() if value is not None}
    return "; ".join(f"{name} {str(value).replace('_', ' ')}" for name, value in known.items())


def _known(row: Mapping[str, Any], name: str) -> Any:
    """The value, or None where a frame holds None as NaN."""
    value = row.get(name)
    return None if value is None or (not isinstance(value, dict) and pd.isna(value)) else value


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
