"""Readings of the pseudo-harmful utterances by others than their writer (params/scenarios).

Each was read twice: the words alone, then with its scenes. Readers saw what is said and what is
heard, and neither the writer's notes nor other ratings. In the reading of all
(``second_reading/*.csv``), what failed was rewritten and read once more by another reader; a random
sample of the outcome (``blind_reading.csv``) was read anew.
"""

from pathlib import Path

import pandas as pd

from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import ParamsError

_ANSWERS = {
    "refused_on_words": ("yes", "perhaps", "no"),
    "scene_settles": ("yes", "partly", "no"),
}


def second_reading(params: Path = PARAMS) -> pd.DataFrame:
    """All readings, one row per utterance, by scenario and id.

    ``scenario``, ``id``, ``refused_on_words`` (would a cautious reader refuse the words?),
    ``scene_settles`` (does the scene make the benign reading the natural one?), ``audible`` (what
    can be heard that does, or what is wrong), all str; ``holds`` (bool): refused perhaps or surely,
    and settled.
    """
    files = sorted((params / "scenarios" / "second_reading").glob("*.csv"))
    rows = pd.concat([_read(path).assign(scenario=path.stem) for path in files])
    rows = rows.sort_values(["scenario", "id"], ignore_index=True)
    return rows[["scenario", "id", *_ANSWERS, "audible", "holds"]]


def blind_reading(params: Path = PARAMS) -> pd.DataFrame:
    """Readings of a random sample of all scenarios, as :func:`second_reading` without scenario."""
    return _read(params / "scenarios" / "blind_reading.csv")


def _read(path: Path) -> pd.DataFrame:
    rows = pd.read_csv(path, dtype=str)
    for column, answers in _ANSWERS.items():
        wrong = rows[~rows[column].isin(answers)]
        for row in wrong.itertuples():
            raise ParamsError(f"{path}: {row.id}: {column}: must be one of {', '.join(answers)}")
    holds = (rows["refused_on_words"] != "no") & (rows["scene_settles"] == "yes")
    return rows.assign(holds=holds)
