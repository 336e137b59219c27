"""The second reading of the pseudo-harmful utterances (params/scenarios/second_reading/*.csv).

Somebody who had not written an utterance read it twice: the words alone, then with its scenes.
"""

from __future__ import annotations

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

    Returns
    -------
    ``scenario``, ``id``, ``refused_on_words`` (would a cautious reader refuse the words?),
    ``scene_settles`` (does the scene make the benign reading the natural one?), ``audible`` (what
    can be heard that does), all str; ``holds`` (bool): refused perhaps or surely, and settled.

    Raises
    ------
    ParamsError
        A file holds a value that is no answer; the message names it.
    """
    files = sorted((params / "scenarios" / "second_reading").glob("*.csv"))
    rows = pd.concat([pd.read_csv(path, dtype=str).assign(scenario=path.stem) for path in files])
    for column, answers in _ANSWERS.items():
        wrong = rows[~rows[column].isin(answers)]
        for row in wrong.itertuples():
            raise ParamsError(
                f"second_reading/{row.scenario}.csv: {row.id}: {column}: must be one of {answers}"
            )
    holds = (rows["refused_on_words"] != "no") & (rows["scene_settles"] == "yes")
    rows = rows.assign(holds=holds).sort_values(["scenario", "id"], ignore_index=True)
    return rows[["scenario", "id", *_ANSWERS, "audible", "holds"]]
