"""Words-only baseline: how well the words separate harmful from pseudo-harmful requests.

For each scenario, a naive Bayes classifier of words is fitted on all other scenarios.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from aor_lib.analysis.selections import WORDS_ONLY
from aor_lib.config.records import Intent, Label, Status, Utterance


def harm_by_words(utterances: Sequence[Utterance]) -> pd.Series:
    """Leave-one-scenario-out probability of harmful against pseudo-harmful, by utterance id.

    ``utterances`` cover at least two scenarios; benign ones get a probability, but are not used for
    fitting.
    """
    requests = pd.DataFrame([u.model_dump() for u in utterances], [u.id for u in utterances])
    probability = pd.Series(np.nan, requests.index)
    for held_out, scored in requests.groupby("scenario"):
        learnt = requests[requests["scenario"].ne(held_out) & requests["intent"].ne(Intent.BENIGN)]
        words = CountVectorizer(token_pattern=r"[\w']+")
        model = make_pipeline(words, MultinomialNB(fit_prior=False))
        model.fit(learnt["text"], learnt["intent"].eq(Intent.HARMFUL))
        probability[scored.index] = model.predict_proba(scored["text"])[:, 1]
    return probability


def words_only_trials(trials: pd.DataFrame, utterances: Sequence[Utterance]) -> pd.DataFrame:
    """Trials of a model that refuses an utterance if :func:`harm_by_words` is at least 0.5.

    One row per stimulus of an utterance in ``utterances``: the columns of ``trials`` (those of
    :func:`aor_lib.analysis.results.load_results`), where ``model`` is :data:`WORDS_ONLY`.
    """
    harm = harm_by_words(utterances)
    known = trials[trials["utterance_id"].isin(harm.index)].drop_duplicates("stimulus_id")
    refused = known["utterance_id"].map(harm) >= 0.5
    labels = refused.map({True: Label.FULL_REFUSAL.value, False: Label.FULL_COMPLIANCE.value})
    of_model = ("response", "rationale", "heard", "error", "revision", "tokens", "p_refusal")
    answers = dict.fromkeys(of_model) | {"flags": "[]"}
    return known.assign(model=WORDS_ONLY, status=Status.OK.value, label=labels, **answers)
