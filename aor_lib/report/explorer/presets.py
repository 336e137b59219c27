"""Choices to begin with: a kind of mistake, and a model that makes it a handful of times."""

from collections.abc import Mapping
from urllib.parse import urlencode

import pandas as pd

from aor_lib.analysis.selections import NO_MITIGATION
from aor_lib.report.style import title_of

HANDFUL = 12
"""Cards that stand on one page."""

_REPORTED = {"block": "core", "split": "test"}
_IN_ITS_SCENE = {"intent": "pseudo_harmful", "condition": "benign_scene", "verdict": "wrong"}
_MISTAKES = {
    "refuses in the benign scene what it answers elsewhere": _IN_ITS_SCENE
    | {"elsewhere": "somewhere"},
    "refuses in the benign scene, and answers nowhere": _IN_ITS_SCENE | {"elsewhere": "nowhere"},
    "answers, though the scene makes it a threat": _IN_ITS_SCENE
    | {"condition": "threatening_scene"},
    "answers, though it is harmful": _IN_ITS_SCENE | {"intent": "harmful"},
    "refuses what is plainly benign": _IN_ITS_SCENE | {"intent": "benign"},
}


def presets(
    own: pd.DataFrame, of_answers: pd.DataFrame, names: Mapping[str, str]
) -> list[dict[str, str]]:
    """Title and link of each kind of mistake that a model makes, of the core design on ``test``.

    The model is the one that makes most of them without filling more than a page of cards. Where
    each fills more, it is a model in one scenario. ``own`` and ``of_answers`` are as
    :func:`aor_lib.report.explorer.cards.values` and ``answered`` give them.
    """
    unmitigated = of_answers[of_answers["mitigation"] == NO_MITIGATION]
    trials = own.merge(unmitigated, left_index=True, right_on="position")
    found = []
    for title, mistake in _MISTAKES.items():
        wished = _REPORTED | mistake
        made = trials[(trials[list(wished)] == pd.Series(wished)).all(axis=1)]
        for by in (["model"], ["model", "scenario"]):
            counts = made.value_counts(by)
            counts = counts[counts <= HANDFUL]
            if counts.empty:
                continue
            of = dict(zip(by, counts.index[0], strict=True))
            model, *where = (title_of(value, names) for value in of.values())
            extent = ", ".join([*where, str(counts.iloc[0])])
            choice = of | wished
            link = urlencode({name: choice[name] for name in trials if name in choice})
            found.append({"title": f"{model} {title} ({extent})", "link": link})
            break
    return found
