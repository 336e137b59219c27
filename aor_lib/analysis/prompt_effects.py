"""Does a prompt do more than any prompt would? The comparisons that tell."""

import pandas as pd

from aor_lib.analysis import stats
from aor_lib.analysis.selections import NO_MITIGATION


def with_controls(compared: pd.DataFrame) -> pd.DataFrame:
    """Paired differences of each prompt from its control, by model, intent and prompt.

    ``compared`` are trials of :func:`aor_lib.analysis.selections.compared_mitigations`.
    """
    arms = compared[compared["mitigation"] != NO_MITIGATION]
    prompt = arms["mitigation"].str.removesuffix(".control")
    kind = (prompt == arms["mitigation"]).map({True: "prompt", False: "control"})
    by = ["model", "intent", "prompt"]
    return stats.paired_differences(arms.assign(prompt=prompt, kind=kind), "kind", "control", by)
