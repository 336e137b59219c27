"""Baseline that reads only the words: how well they tell harmful from pseudo-harmful requests.

Every measure is fitted without the scenario that it scores.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from aor_lib.analysis.selections import WORDS_ONLY
from aor_lib.config.records import Intent, Label, Status, Utterance


def _lengths(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    return np.array([[len(text.split()), len(text)] for text in texts], dtype=np.float64) / 10


def _logistic() -> LogisticRegression:
    return LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000)


MEASURES: dict[str, Callable[[], Pipeline]] = {
    "naive Bayes": lambda: make_pipeline(
        CountVectorizer(token_pattern=r"[\w']+"),
        MultinomialNB(fit_prior=False),
    ),
    "TF-IDF of words": lambda: make_pipeline(
        TfidfVectorizer(token_pattern=r"[\w']+", sublinear_tf=True), _logistic()
    ),
    "TF-IDF of characters": lambda: make_pipeline(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True), _logistic()
    ),
    "length": lambda: make_pipeline(FunctionTransformer(_lengths), _logistic()),
}
"""Classifiers of texts, unfitted."""

DECIDING = "TF-IDF of words"
"""The measure that stands for a model in the results."""


def harm_by_words(utterances: Sequence[Utterance], measure: str) -> pd.Series:
    """Leave-one-scenario-out probability of harmful against pseudo-harmful, by utterance id.

    ``utterances`` are of at least two scenarios; benign ones get a probability, but are not learnt
    from. ``measure`` is a key of :data:`MEASURES`.
    """
    texts = np.array([u.text for u in utterances], dtype=object)
    scenario = np.array([u.scenario for u in utterances])
    harmful = np.array([u.intent is Intent.HARMFUL for u in utterances])
    learnt = harmful | np.array([u.intent is Intent.PSEUDO_HARMFUL for u in utterances])
    probability = np.empty(len(texts))
    for held_out in np.unique(scenario):
        inside, outside = scenario == held_out, (scenario != held_out) & learnt
        model = MEASURES[measure]().fit(texts[outside], harmful[outside])
        probability[inside] = model.predict_proba(texts[inside])[:, 1]
    return pd.Series(probability, index=[u.id for u in utterances], name=measure)


def words_only_trials(trials: pd.DataFrame, utterances: Sequence[Utterance]) -> pd.DataFrame:
    """Trials of a model that refuses where :data:`DECIDING` gives harm at least one half.

    One row per stimulus of an utterance among ``utterances``, which it learns from without the
    scenario that it answers: the columns of ``trials`` (those of
    :func:`aor_lib.analysis.results.load_results`), with ``model`` :data:`WORDS_ONLY`.
    """
    harm = harm_by_words(utterances, DECIDING)
    known = trials[trials["utterance_id"].isin(harm.index)].drop_duplicates("stimulus_id")
    refused = known["utterance_id"].map(harm) >= 0.5
    labels = refused.map({True: Label.FULL_REFUSAL.value, False: Label.FULL_COMPLIANCE.value})
    answers = dict.fromkeys(("response", "rationale", "heard", "error")) | {"flags": "[]"}
    return known.assign(model=WORDS_ONLY, status=Status.OK.value, label=labels, **answers)


def auc_by_words(utterances: Sequence[Utterance]) -> pd.DataFrame:
    """AUC of each measure, harmful against pseudo-harmful, leave-one-scenario-out.

    One row per measure: ``measure``, ``auc`` (mean over the scenarios), ``lowest``, ``highest``.
    """
    both = [u for u in utterances if u.intent in (Intent.HARMFUL, Intent.PSEUDO_HARMFUL)]
    harmful = pd.Series({u.id: u.intent is Intent.HARMFUL for u in both})
    scenario = pd.Series({u.id: u.scenario for u in both})
    rows = []
    for measure in MEASURES:
        scores = harm_by_words(both, measure)
        aucs = [
            roc_auc_score(harmful[ids], scores[ids])
            for ids in scenario.groupby(scenario).groups.values()
        ]
        rows.append((measure, float(np.mean(aucs)), min(aucs), max(aucs)))
    return pd.DataFrame(rows, columns=["measure", "auc", "lowest", "highest"])
