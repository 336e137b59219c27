"""How well words alone separate harmful from pseudo-harmful requests, for the data page."""

from collections.abc import Sequence

import pandas as pd
from sklearn.metrics import roc_auc_score

from aor_lib.analysis.words_only import harm_by_words
from aor_lib.config.records import Intent, Utterance


def auc_by_words(utterances: Sequence[Utterance]) -> pd.Series:
    """AUC of harmful against pseudo-harmful requests by :func:`harm_by_words`, by scenario."""
    both = [u for u in utterances if u.intent is not Intent.BENIGN]
    harmful = pd.Series({u.id: u.intent is Intent.HARMFUL for u in both})
    groups = harm_by_words(both).groupby({u.id: u.scenario for u in both})
    return groups.agg(lambda own: roc_auc_score(harmful[own.index], own)).rename("auc")
