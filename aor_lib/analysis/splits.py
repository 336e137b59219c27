"""Splits: what is fitted or chosen on ``dev``, and what is reported on ``test``, kept apart."""

from collections.abc import Collection

import pandas as pd

from aor_lib.config.records import Split
from aor_lib.config.typed_yaml import AorError

REFERENCE_MODELS = (
    "ref-permissive",
    "ref-wordbound",
    "ref-contextual",
    "ref-emotive",
    "ref-lulled",
)
"""Models whose refusals the project planted, in the order in which they are shown."""


class SplitError(AorError, ValueError):
    """Data of the wrong split; the message names an utterance."""


def for_fitting(rows: pd.DataFrame) -> tuple[pd.DataFrame, frozenset[str]]:
    """Rows of ``dev``, to fit on, and the ids of their utterances; SplitError if there are none.

    ``rows`` has the columns ``utterance_id`` and ``split``, as manifests and results do.
    """
    chosen = rows[rows["split"] == Split.DEV]
    if chosen.empty:
        raise SplitError("nothing to fit on: no utterance is of the 'dev' split; take more of them")
    return chosen, frozenset(chosen["utterance_id"])


def for_scoring(rows: pd.DataFrame, fitted_on: Collection[str]) -> pd.DataFrame:
    """The same rows, if they may be scored with what was fitted on the utterances ``fitted_on``.

    SplitError if an utterance was fitted on, or is not of ``test`` though something was fitted.
    """
    seen = rows["utterance_id"].isin(list(fitted_on))
    if seen.any():
        name = rows.loc[seen, "utterance_id"].iloc[0]
        raise SplitError(f"utterance {name!r} was fitted on: score other utterances")
    other = rows["split"] != Split.TEST
    if fitted_on and other.any():
        name = rows.loc[other, "utterance_id"].iloc[0]
        raise SplitError(f"utterance {name!r} is not of the 'test' split: score only 'test'")
    return rows
