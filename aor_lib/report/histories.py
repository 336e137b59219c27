"""Utterances after a history of earlier turns, beside the same utterances without one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote

import pandas as pd

from aor_lib.config.profile import History
from aor_lib.config.records import Condition
from aor_lib.report.listening import Html, player

WITHOUT = "none"
"""Stands for no history in the column ``history_id``."""


def paired_with_histories(results: pd.DataFrame) -> pd.DataFrame:
    """Trials after a history, and the trials of the same clip without one.

    Parameters
    ----------
    results
        As of :func:`aor_lib.analysis.results.load_results`.

    Returns
    -------
    The rows without a mitigation whose utterance and condition come both ways, with the column
    ``history_id``: the history's id (params/histories.yaml), or :data:`WITHOUT`. Both rows of a
    pair have the same ``condition``: that of the utterance itself.
    """
    plain = results[results["mitigation"] == "none"]
    after = plain[plain["block"] == "multi_turn"]
    after = after.assign(history_id=after["stimulus_id"].str.extract(r"\.after_([^.]+)")[0])
    # The last clip of the conversation is the very clip that the others were asked alone.
    alone = plain[(plain["block"] == "core") & plain["sha256"].isin(after["sha256"])]
    after = after[after["sha256"].isin(alone["sha256"])]
    return pd.concat([alone.assign(history_id=WITHOUT), after], ignore_index=True)


def in_words(history: History) -> str:
    """The turns of a history, one after the other, and where the scene is heard."""
    said = [
        f"“{turn.said}”{' in the scene' if turn.in_scene else ''}, answered “{turn.answered}”"
        for turn in history.turns
    ]
    heard = "in its scene" if history.final is Condition.MATCHED else "without a scene"
    return "; ".join(said) + f"; then the request, {heard}"


def conversation(row: Mapping[str, Any], clip_url: str, answers: pd.DataFrame) -> Html:
    """The earlier turns of a stimulus, spoken and answered, and then its card.

    Parameters are those of :func:`aor_lib.report.listening.player`.
    """
    turns = "".join(_turn(turn, clip_url) for turn in json.loads(row["history"]))
    return Html(f"<ol>{turns}</ol>{player(row, clip_url, answers).html}")


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
