"""Earlier turns of a conversation, to read and to hear."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote

import pandas as pd

from aor_lib.config.profile import History
from aor_lib.config.records import Condition
from aor_lib.report.listening import Html, player
from aor_lib.report.markdown import Prose, nothing_for


def in_words(history: History) -> str:
    """Turns of a history, one after the other, and where the scene is heard."""
    said = [
        f"“{turn.said}”{' in the scene' if turn.in_scene else ''}, answered “{turn.answered}”"
        for turn in history.turns
    ]
    heard = "in its scene" if history.final is Condition.BENIGN_SCENE else "without a scene"
    return "; ".join(said) + f"; then the request, {heard}"


def conversation(trials: pd.DataFrame, clip_url: str) -> Html | Prose:
    """The earlier turns of the first stimulus of ``trials``, and then its card with all answers."""
    if trials.empty:
        return nothing_for("A conversation")
    first = {str(name): value for name, value in trials.iloc[0].items()}
    answers = trials[trials["stimulus_id"] == first["stimulus_id"]]
    turns = "".join(_turn(turn, clip_url) for turn in json.loads(first["history"]))
    return Html(f"<ol>{turns}</ol>{player(first, clip_url, answers).html}")


def _turn(turn: Mapping[str, Any], clip_url: str) -> str:
    who = "The speaker" if turn["role"] == "user" else "The assistant"
    said = f"{who}: “{turn['text']}”"
    if turn.get("path") is None:
        return f"<li>{escape(said)}</li>"
    source = f"{clip_url.rstrip('/')}/{quote(turn['path'].removeprefix('clips/'))}"
    return (
        f'<li>{escape(said)}<br><audio controls preload="none" src="{escape(source)}"'
        f' aria-label="{escape(said)}"></audio></li>'
    )
