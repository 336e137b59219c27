"""Does it matter who speaks, with what emotion and how fast? The comparisons that tell."""

import pandas as pd

from aor_lib.analysis import stats

BASELINES = {"gender": "female", "emotion": "neutral", "speaking_rate": "normal"}
"""Factors of the speaker, and the level that others are compared with."""


def from_baselines(spoken: pd.DataFrame) -> pd.DataFrame:
    """Differences of each gender, emotion and pace from its baseline, by utterance.

    Angry speech is also faster and louder, and a few clips may put it on one gender or pace more
    than on others: these two are compared without it. All rows of a model are one family.

    ``spoken`` are trials of one intent, such as :func:`aor_lib.analysis.selections.varied_speech`.
    """
    calm = spoken[spoken["emotion"] != "angry"]
    compared = {"gender": calm, "emotion": spoken, "speaking_rate": calm}
    tables = [
        stats.paired_differences(compared[factor], factor, baseline, ["model"])
        for factor, baseline in BASELINES.items()
    ]
    # A factor that is not varied has a table without rows, whose columns are of no type.
    rows = stats.adjusted(pd.concat(tables, ignore_index=True).infer_objects())
    return rows.sort_values("model", kind="stable", ignore_index=True)
