"""Links from numbers to their clips, rewritten as filters that a reader of the URL understands.

A link in an executed notebook names every clip by its id. Here it gets the column values that
select exactly the same clips; ids remain only where no column values select them.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlencode

import pandas as pd

CHOSEN_BY = (
    "intent",
    "condition",
    "split",
    "block",
    "scenario",
    "background_scene",
    "snr_db",
    "emotion",
    "gender",
    "speaking_rate",
    "history_id",
    "variant",
)
"""Columns of stimuli by which the explorer filters."""
UNKNOWN = "unknown"
"""Stands for a missing value in a stimulus's column."""

_IDS = ("utterance_id", "stimulus_id")
_FEW = 8  # largest number of values of a column in a link; ids are clearer than a longer list
_VALUES = r"=[\w.%+-]*"
_LINK = re.compile(
    rf"(?<=explorer\.html#)model{_VALUES}&(?:amp;)?mitigation{_VALUES}&(?:amp;)?stimulus_id{_VALUES}(?![\w.%+&,-])"
)


def shortened(text: str, trials: pd.DataFrame) -> str:
    """Replace the ids in the links of an executed notebook by column values.

    Parameters
    ----------
    text
        Its JSON, with links such as ``explorer.html#model=a&mitigation=none&stimulus_id=b``.
    trials
        All trials of the study.
    """
    known = trials[["model", "mitigation", *CHOSEN_BY, *_IDS]]
    choices: dict[str, str] = {}

    def shorten(link: re.Match[str]) -> str:
        both = "&amp;" if "&amp;" in link[0] else "&"
        whole = link[0].replace("&amp;", "&")
        if whole not in choices:
            choices[whole] = choice(whole, known)
        return choices[whole].replace("&", both)

    return _LINK.sub(shorten, text)


def choice(link: str, known: pd.DataFrame) -> str:
    """Query string that selects a link's clips by the first columns that suffice, in order."""
    wished = {name: values[0].split(",") for name, values in parse_qs(link).items()}
    ids, chosen = wished.pop("stimulus_id"), dict(wished)
    for name, values in wished.items():
        known = known[known[name].isin(values)]
    known = known.drop_duplicates("stimulus_id")
    for name in (*CHOSEN_BY, *_IDS):
        wanted = known["stimulus_id"].isin(ids)
        if wanted.all():
            break
        here = known.loc[wanted, name].unique()
        fits = known[name].isin(here)
        if not fits.all() and (len(here) <= _FEW or name in _IDS):
            known = known[fits]
            chosen[name] = sorted(UNKNOWN if pd.isna(value) else str(value) for value in here)
    return urlencode({name: ",".join(values) for name, values in chosen.items()})
