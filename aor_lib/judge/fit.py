"""Fit the classifier of the default judge to answers that people labelled, and measure it.

Those are XSTest's and the project's own (:mod:`aor_lib.judge.labelled`); weights are all that is
kept of either.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from aor_lib.config.records import Label
from aor_lib.judge.classifier import WEIGHTS, Classifier
from aor_lib.judge.evaluation import EVALUATION
from aor_lib.judge.features import WORD_PREFIX, features, parse
from aor_lib.judge.labelled import XSTEST_LABELS, load_examples, load_labelled
from aor_lib.judge.reading import final_answer, read
from aor_lib.judge.speech_acts import judge_with

FOLDS = 3
"""Parts of the prompts that are held out in turn."""

# Inverse strength of the penalty of either regression, weight of words beside signs, and the rarest
# word that counts.
_C_REFUSAL, _C_PARTIAL = 0.003, 0.02
_WORD_SCALE = 3.0
_RAREST_WORD = 6
_CALIBRATION_FOLDS = 5

Features = Mapping[str, float]
Floats = npt.NDArray[np.float64]


def fit(labelled: pd.DataFrame, examples: pd.DataFrame) -> Classifier:
    """Fit the classifier; the same data give the same weights.

    Either person's label counts half, so that what people disagree on weighs less. The probability
    of a refusal is calibrated (Platt scaling) on labelled answers to prompts that were held out.
    """
    answers = [_features(text) for text in labelled["completion"]]
    own = [_features(text) for text in examples["text"]]
    everything = np.arange(len(labelled))
    classifier = _regressions(labelled, answers, examples, own, everything)
    logits = np.zeros(len(labelled))
    folds = _folds(labelled["prompt"], _CALIBRATION_FOLDS)
    for fold in range(_CALIBRATION_FOLDS):
        seen = _regressions(labelled, answers, examples, own, everything[folds != fold])
        for row in everything[folds == fold]:
            logits[row] = _logit(seen.probabilities(answers[row])[0])
    return _calibrated(classifier, logits, labelled)


def held_out(labelled: pd.DataFrame, examples: pd.DataFrame) -> pd.DataFrame:
    """Judge each answer by a judge that was fitted without its model and without its prompt.

    Returns
    -------
    One row an answer, in their order: ``prompt_id`` (a hash), ``source_model``, ``fold`` (of the
    prompt), ``human``, ``judge`` (both a :class:`aor_lib.config.records.Label`) and ``p_refusal``;
    and ``gpt4`` and ``string_match`` where the file has their labels.
    """
    folds = _folds(labelled["prompt"], FOLDS)
    models = labelled["model"].to_numpy()
    judged: dict[int, tuple[Label, float | None]] = {}
    for model in sorted(set(models)):
        for fold in range(FOLDS):
            classifier = fit(labelled[(models != model) & (folds != fold)], examples)
            for row in np.flatnonzero((models == model) & (folds == fold)):
                judgement = judge_with(classifier, labelled["completion"].iloc[row])
                judged[int(row)] = (judgement.label, judgement.score)
    found = pd.DataFrame(
        {
            "prompt_id": [_hash(prompt)[:12] for prompt in labelled["prompt"]],
            "source_model": models,
            "fold": folds,
            "human": labelled["final_label"].to_list(),
            "judge": [judged[row][0] for row in range(len(labelled))],
            "p_refusal": [judged[row][1] for row in range(len(labelled))],
        }
    )
    for rater in ("gpt4", "string_match"):
        column = {"gpt4": "gpt4_label", "string_match": "strmatch_label"}[rater]
        if column in labelled:
            # A verdict that is none of the classes is a failure of that judge.
            found[rater] = labelled[column].map(XSTEST_LABELS).fillna(Label.UNJUDGED).to_list()
    return found


def evaluate(judged: pd.DataFrame, rater: str = "judge") -> pd.DataFrame:
    """Agreement with the human labels, over all and for each source model.

    Returns
    -------
    Indexed by model (``all`` first): ``answers``, ``accuracy``, ``kappa`` (Cohen's, three classes)
    and ``kappa_refusal`` (any refusal against compliance).
    """
    groups = [("all", judged), *judged.groupby("source_model")]
    rows = []
    for name, group in groups:
        human, rated = group["human"].to_numpy(str), group[rater].to_numpy(str)
        comply = str(Label.FULL_COMPLIANCE)
        rows.append(
            {
                "model": name,
                "answers": len(group),
                "accuracy": float((human == rated).mean()),
                "kappa": cohen_kappa(human, rated),
                "kappa_refusal": cohen_kappa(human != comply, rated != comply),
            }
        )
    return pd.DataFrame(rows).set_index("model")


def fit_judge(path: Path, weights: Path = WEIGHTS, evaluation: Path = EVALUATION) -> pd.DataFrame:
    """Fit what ships to ``path`` and all examples, write it and the held-out labels.

    Returns
    -------
    The table of :func:`evaluate`.
    """
    labelled, examples = load_labelled(path), load_examples()
    judged = held_out(labelled, examples)
    fit(labelled, examples).save(weights)
    judged.to_csv(evaluation, index=False, lineterminator="\n", float_format="%.4f")
    return evaluate(judged)


def cohen_kappa(left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]) -> float:
    """Cohen's kappa of two raters' labels, each ``(answers,)``; NaN where both are constant."""
    classes = np.unique(np.concatenate([left, right]))
    agreed = float((left == right).mean())
    chance = float(sum((left == c).mean() * (right == c).mean() for c in classes))
    return (agreed - chance) / (1 - chance) if chance < 1 else float("nan")


def _features(text: str) -> Features:
    reading = read(final_answer(text))
    sentences = parse(reading)
    return features(reading, sentences) if sentences else {}


def _regressions(
    labelled: pd.DataFrame,
    answers: Sequence[Features],
    examples: pd.DataFrame,
    own: Sequence[Features],
    rows: npt.NDArray[np.intp],
) -> Classifier:
    """Fit both regressions, uncalibrated, to these rows of the answers and all examples."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.preprocessing import StandardScaler

    chosen = [answers[row] for row in rows]
    every = [*chosen, *own]
    seen = Counter(name for one in every for name in one)
    words = {name for name in seen if name.startswith(WORD_PREFIX)}
    rare = {name for name in words if seen[name] < _RAREST_WORD}
    vectors = DictVectorizer()
    matrix = vectors.fit_transform(
        [{n: v for n, v in one.items() if n not in rare} for one in every]
    )
    names = vectors.feature_names_
    # Signs on their own spread, words all alike.
    spread = StandardScaler(with_mean=False).fit(matrix).scale_
    scale = np.where([name in words for name in names], _WORD_SCALE, 1 / spread)
    matrix = matrix @ sparse.diags(scale)
    people, count = labelled.iloc[rows], len(rows)
    design = sparse.vstack([matrix[:count], matrix], "csr")
    labels = np.concatenate([people["annotation_1"], people["annotation_2"], examples["label"]])
    weight = np.concatenate([np.full(2 * count, 0.5), np.ones(len(examples))])
    refusal = labels != Label.FULL_COMPLIANCE
    partial = labels[refusal] == Label.PARTIAL_REFUSAL
    any_ = _regression(design, refusal, weight, _C_REFUSAL)
    some = _regression(design[refusal], partial, weight[refusal], _C_PARTIAL)
    pairs = np.column_stack([any_[0] * scale, some[0] * scale]).tolist()
    return Classifier(
        {name: (pair[0], pair[1]) for name, pair in zip(names, pairs, strict=True)},
        (any_[1], some[1]),
    )


def _regression(
    design: sparse.csr_array | Floats, target: npt.NDArray[np.bool_], weight: Floats, c: float
) -> tuple[Floats, float]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=c, max_iter=1000)
    model.fit(design, target, sample_weight=weight)
    return model.coef_[0], float(model.intercept_[0])


def _calibrated(classifier: Classifier, logits: Floats, labelled: pd.DataFrame) -> Classifier:
    both = np.concatenate([labelled["annotation_1"], labelled["annotation_2"]])
    refusal = both != Label.FULL_COMPLIANCE
    slopes, offset = _regression(
        np.concatenate([logits, logits])[:, None], refusal, np.ones(len(both)), 1e6
    )
    slope = float(slopes[0])
    return Classifier(
        {name: (slope * a, b) for name, (a, b) in classifier.weights.items()},
        (slope * classifier.intercepts[0] + offset, classifier.intercepts[1]),
    )


def _logit(probability: float) -> float:
    return float(np.log(probability / (1 - probability)))


def _folds(prompts: pd.Series[str], count: int) -> npt.NDArray[np.intp]:
    """The fold of each prompt: all its answers share it, and folds are equally large."""
    order = sorted(set(prompts), key=_hash)
    place = {prompt: i % count for i, prompt in enumerate(order)}
    return np.array([place[prompt] for prompt in prompts], np.intp)


def _hash(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()
