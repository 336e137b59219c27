"""Families of paired comparisons that more than one chapter shows.

Each function's rows are one family of tests for a model (:func:`aor_lib.analysis.stats.adjusted`).
"""

from __future__ import annotations

import pandas as pd

from aor_lib.analysis import stats
from aor_lib.analysis.selections import NO_MITIGATION

SPEAKER = {"gender": "female", "emotion": "neutral", "rate": "normal"}
"""What is varied of the speaker, and the baseline of each."""


def of_the_speaker(spoken: pd.DataFrame) -> pd.DataFrame:
    """Paired differences of each gender, emotion and speaking rate from its baseline.

    Angry speech is also faster and louder, and a few clips may put it on one gender or rate more
    than on others: gender and rate are compared without it.

    Parameters
    ----------
    spoken
        Trials of one intent from :func:`aor_lib.analysis.selections.varied_speech`.
    """
    calm = spoken[spoken["emotion"] != "angry"]
    trials = {"gender": calm, "emotion": spoken, "rate": calm}
    tables = [
        stats.paired_differences(trials[factor], factor, baseline, ["model"])
        for factor, baseline in SPEAKER.items()
    ]
    # A factor that is not varied has a table without rows, whose columns are of no type.
    paired = stats.adjusted(pd.concat(tables, ignore_index=True).infer_objects())
    return paired.sort_values("model", kind="stable")


def prompts_with_controls(compared: pd.DataFrame) -> pd.DataFrame:
    """Paired differences of each prompt from its control, by model, intent and prompt.

    Parameters
    ----------
    compared
        Trials of :func:`aor_lib.analysis.selections.compared_mitigations`.
    """
    arms = compared[compared["mitigation"] != NO_MITIGATION]
    prompt = arms["mitigation"].str.removesuffix(".control")
    kind = (prompt == arms["mitigation"]).map({True: "prompt", False: "control"})
    by = ["model", "intent", "prompt"]
    return stats.paired_differences(arms.assign(prompt=prompt, kind=kind), "kind", "control", by)
