"""Fit the classifier of the default judge to answers that people labelled.

Those are XSTest's ``human_labelled_completions.csv`` (Röttger et al., NAACL 2024,
https://aclanthology.org/2024.naacl-long.301/), 900 answers of three models, each labelled by two
people, and the project's own examples, which hold the phrasings of other models. Weights are all
that is kept of either.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd
import typer
from scipy import sparse

from aor_lib.config.records import Label
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.judge.features import WORD_PREFIX, features
from aor_lib.judge.judgement import STRING_MATCH
from aor_lib.judge.reading import final_answer
from aor_lib.judge.sentences import parse
from aor_lib.judge.speech_acts import (
    EVALUATION,
    INTERCEPT,
    RULES,
    WEIGHTS,
    Weights,
    judge_answer,
    log_odds,
    settled_by_rule,
)

EXAMPLES = Path(__file__).parent / "examples.jsonl"
XSTEST_LABELS = {
    "1_full_compliance": Label.FULL_COMPLIANCE,
    "2_full_refusal": Label.FULL_REFUSAL,
    "3_partial_refusal": Label.PARTIAL_REFUSAL,
}
_BY_PEOPLE = ("annotation_1", "annotation_2", "final_label")
_COLUMNS = ("prompt", "completion", "model", *_BY_PEOPLE)

FOLDS = 3
"""Parts of the prompts that are held out in turn."""

# Inverse strength of the penalty of either regression, weight of words beside patterns, and the
# rarest word that counts.
_C_REFUSAL, _C_PARTIAL = 0.003, 0.02
_WORD_SCALE = 3.0
_RAREST_WORD = 6
_CALIBRATION_FOLDS = 5

Floats = npt.NDArray[np.float64]


def fit_judge(path: Path, weights: Path = WEIGHTS, evaluation: Path = EVALUATION) -> pd.DataFrame:
    """Fit what ships to ``path`` and all examples; write it and the held-out labels.

    Returns the table of :func:`evaluate`.
    """
    labelled, examples = load_labelled(path), load_examples()
    judged = held_out(labelled, examples)
    save_weights(fit(labelled, examples), weights)
    judged.to_csv(evaluation, index=False, lineterminator="\n", float_format="%.4f")
    return evaluate(judged)


def fit(labelled: pd.DataFrame, examples: pd.DataFrame) -> Weights:
    """Fit the classifier; the same data give the same weights.

    Either person's label counts half, so that what people disagree on weighs less. The probability
    of a refusal is calibrated (Platt scaling) on labelled answers to prompts that were held out.
    """
    people = labelled.assign(features=labelled["completion"].map(_features))
    own = examples.assign(features=examples["text"].map(_features))
    folds = _folds(people["prompt"], _CALIBRATION_FOLDS)
    logits = np.zeros(len(people))
    for fold in range(_CALIBRATION_FOLDS):
        seen = _regressions(people[folds != fold], own)
        for row in np.flatnonzero(folds == fold):
            logits[row] = log_odds(seen, people["features"].iloc[row])[0]
    return _calibrated(_regressions(people, own), logits, people)


def save_weights(weights: Weights, path: Path) -> None:
    """Write what :func:`aor_lib.judge.speech_acts.load_weights` reads."""
    names = sorted(weights.keys() - {INTERCEPT})
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path,
        names=np.array("\n".join(names)),
        weights=np.array([weights[name] for name in names], np.float32),
        intercepts=np.array(weights[INTERCEPT], np.float32),
    )


def evaluate(judged: pd.DataFrame) -> pd.DataFrame:
    """Compare the judge with people, over all answers and for each source model.

    Indexed by model (``all`` first): ``answers``, ``accuracy``, ``kappa`` (Cohen's, three classes)
    and ``kappa_refusal`` (any refusal against compliance).
    """
    from sklearn.metrics import cohen_kappa_score

    rows = {}
    for model, answers in [("all", judged), *judged.groupby("source_model")]:
        people, judge = answers["human"].astype(str), answers["judge"].astype(str)
        comply = str(Label.FULL_COMPLIANCE)
        rows[model] = {
            "answers": len(answers),
            "accuracy": (people == judge).mean(),
            "kappa": cohen_kappa_score(people, judge),
            "kappa_refusal": cohen_kappa_score(people != comply, judge != comply),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def load_labelled(path: Path) -> pd.DataFrame:
    """Read XSTest's file of labelled answers, or one like it; ParamsError names a wrong row."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if missing := [name for name in _COLUMNS if name not in frame]:
        raise ParamsError(f"{path}: lacks the columns {', '.join(missing)}")
    for column in _BY_PEOPLE:
        for row, label in enumerate(frame[column], start=2):
            if label not in XSTEST_LABELS:
                valid = ", ".join(XSTEST_LABELS)
                raise ParamsError(f"{path}: row {row}: {column}: {label!r} must be one of {valid}")
        frame[column] = frame[column].map(XSTEST_LABELS)
    return frame


def load_examples() -> pd.DataFrame:
    """Read the project's own examples: ``text`` and ``label``, without those to be unjudged."""
    frame = pd.read_json(EXAMPLES, lines=True, dtype=False)
    return frame[frame["label"] != Label.UNJUDGED].reset_index(drop=True)


def held_out(labelled: pd.DataFrame, examples: pd.DataFrame) -> pd.DataFrame:
    """Judge each answer by a judge that was fitted without its model and without its prompt.

    That holds for the classifier, its calibration and the probabilities of the rules; the patterns
    were written with all answers at hand. One row per answer, with the columns of
    :func:`aor_lib.judge.load_evaluation`; ``prompt_id`` is a hash.
    """
    folds = _folds(labelled["prompt"], FOLDS)
    labelled = labelled.assign(rule=labelled["completion"].map(_rule))
    models = labelled["model"].to_numpy()
    judged = pd.DataFrame(
        {
            "prompt_id": [_hash(prompt)[:12] for prompt in labelled["prompt"]],
            "source_model": models,
            "fold": folds,
            "human": labelled["final_label"].to_list(),
            "judge": None,
            "p_refusal": np.nan,
        }
    )
    for model in sorted(set(models)):
        for fold in range(FOLDS):
            seen = labelled[(models != model) & (folds != fold)]
            weights, rules = fit(seen, examples), _rule_probabilities(seen)
            for row in np.flatnonzero((models == model) & (folds == fold)):
                judgement = judge_answer(labelled["completion"].iloc[row], weights, rules)
                judged.loc[row, ["judge", "p_refusal"]] = judgement.label, judgement.p_refusal
    by_string = STRING_MATCH.judgements([(answer, None) for answer in labelled["completion"]])
    judged["own_string_match"] = [judgement.label for judgement in by_string]
    for rater, column in {"gpt4": "gpt4_label", "string_match": "strmatch_label"}.items():
        if column in labelled:
            # A verdict that is none of the classes is a failure of that judge.
            judged[rater] = labelled[column].map(XSTEST_LABELS).fillna(Label.UNJUDGED).to_list()
    return judged


def _rule_probabilities(people: pd.DataFrame) -> dict[str, float]:
    # Shares of refusals in what each rule decides, with one answer of either kind added.
    refused = people["final_label"] != Label.FULL_COMPLIANCE
    shares = {}
    for rule in RULES:
        decided = refused[people["rule"] == rule]
        shares[rule] = float((decided.sum() + 1) / (len(decided) + 2))
    return shares


def _rule(text: str) -> str | None:
    answer = parse(final_answer(text))
    settled = settled_by_rule(answer) if answer.sentences else None
    return settled[1] if settled else None


def _features(text: str) -> dict[str, float]:
    answer = parse(final_answer(text))
    return features(answer) if answer.sentences else {}


def _regressions(people: pd.DataFrame, own: pd.DataFrame) -> Weights:
    # Uncalibrated.
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.preprocessing import StandardScaler

    answers = [*people["features"], *own["features"]]
    seen = Counter(name for answer in answers for name in answer)
    words = {name for name in seen if name.startswith(WORD_PREFIX)}
    rare = {name for name in words if seen[name] < _RAREST_WORD}
    vectors = DictVectorizer()
    matrix = vectors.fit_transform(
        [{n: v for n, v in answer.items() if n not in rare} for answer in answers]
    )
    names = vectors.feature_names_
    # Patterns on their own spread, words all alike.
    spread = StandardScaler(with_mean=False).fit(matrix).scale_
    scale = np.where([name in words for name in names], _WORD_SCALE, 1 / spread)
    matrix = matrix @ sparse.diags(scale)
    count = len(people)
    design = sparse.vstack([matrix[:count], matrix], "csr")
    labels = np.concatenate([people["annotation_1"], people["annotation_2"], own["label"]])
    weight = np.concatenate([np.full(2 * count, 0.5), np.ones(len(own))])
    refusal = labels != Label.FULL_COMPLIANCE
    partial = labels[refusal] == Label.PARTIAL_REFUSAL
    any_, any_intercept = _regression(design, refusal, weight, _C_REFUSAL)
    some, some_intercept = _regression(design[refusal], partial, weight[refusal], _C_PARTIAL)
    weights = zip(names, (any_ * scale).tolist(), (some * scale).tolist(), strict=True)
    return {INTERCEPT: (any_intercept, some_intercept)} | {name: (a, b) for name, a, b in weights}


def _regression(
    design: sparse.csr_array | Floats, target: npt.NDArray[np.bool_], weight: Floats, c: float
) -> tuple[Floats, float]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=c, max_iter=1000)
    model.fit(design, target, sample_weight=weight)
    return model.coef_[0], float(model.intercept_[0])


def _calibrated(weights: Weights, logits: Floats, people: pd.DataFrame) -> Weights:
    labels = np.concatenate([people["annotation_1"], people["annotation_2"]])
    refusal = labels != Label.FULL_COMPLIANCE
    slopes, offset = _regression(np.tile(logits, 2)[:, None], refusal, np.ones(len(labels)), 1e6)
    slope = float(slopes[0])
    any_, some = weights[INTERCEPT]
    scaled = {name: (slope * a, b) for name, (a, b) in weights.items()}
    return scaled | {INTERCEPT: (slope * any_ + offset, some)}


def _folds(prompts: pd.Series[str], count: int) -> npt.NDArray[np.intp]:
    # All answers to a prompt share a fold, and folds are equally large.
    order = {prompt: i % count for i, prompt in enumerate(sorted(set(prompts), key=_hash))}
    return np.array([order[prompt] for prompt in prompts], np.intp)


def _hash(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()


def main(
    file: Annotated[
        Path, typer.Argument(help="XSTest's human_labelled_completions.csv (CC-BY-4.0).")
    ],
) -> None:
    """Fit the default judge to human labels and print its agreement with held-out ones."""
    typer.echo("Held out: each model on each third of the prompts, fitted on other models' rest")
    typer.echo(fit_judge(file).round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
