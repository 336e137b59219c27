"""Fit the default judge to labelled answers, and judge each of them by a judge that lacks it.

The answers are XSTest's ``human_labelled_completions.csv`` (Röttger et al., NAACL 2024,
https://aclanthology.org/2024.naacl-long.301/), 900 answers of three models, each labelled by two
people, and the project's own, which hold the phrasings and forms of other models. Weights are all
that is kept of XSTest's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from aor_lib.config.records import Label
from aor_lib.judge.encoder import CLASSES, ENCODER, base_arrays
from aor_lib.judge.judgement import STRING_MATCH
from aor_lib.judge.speech_acts import EVALUATION, SURE, WEIGHTS, Weights, decide, weigh
from aor_lib.storage.assets import Arrays, load_or_make
from reference.judge.corpus import (
    XSTEST_LABELS,
    Corpus,
    Floats,
    Places,
    hash_of,
    load_labelled,
    load_own,
)

_C_PATTERNS = 0.003  # inverse strength of the regression's penalty
_OTHER_LANGUAGE = "language"


def fit_judge(path: Path, folder: Path = ENCODER.parent) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit the judge to ``path`` and the own answers; write it and XSTest's held-out labels.

    What was tuned is kept in the user's cache, so that a fit that was cut off goes on.

    Returns the tables of :func:`evaluate` and :func:`evaluate_own`.
    """
    from reference.judge.encoder import VERSION, Answers
    from reference.judge.graph import save_encoder

    corpus = Corpus(load_labelled(path), load_own())
    texts = [answer.text for answer in corpus.answers]
    learnt = [VERSION, texts, corpus.targets.tolist()]
    answers = Answers(texts)
    scores = np.zeros_like(corpus.targets)
    for cell in range(corpus.cells):
        seen, tested = corpus.seen(cell), np.flatnonzero(corpus.cell == cell)

        def tune(cell: int = cell, seen: Places = seen, tested: Places = tested) -> Arrays:
            tuned = answers.tune(seen, corpus.targets[seen], seed=cell)
            return {"scores": answers.scores(tuned, tested)}

        scores[tested] = load_or_make("judge", [cell, *learnt, corpus.cell.tolist()], tune)[
            "scores"
        ]
    log_odds = weighed(corpus, held_out_patterns(corpus), scores)
    everything = np.arange(len(corpus.answers))

    def tune_on_all() -> Arrays:
        return answers.tune(everything, corpus.targets, seed=0).arrays()

    tuned = load_or_make("judge", ["all", *learnt], tune_on_all)
    save_encoder(base_arrays(), tuned, folder / ENCODER.name)
    save_weights(regression(corpus), folder / WEIGHTS.name)
    judged = evaluation(corpus, log_odds)
    judged.to_csv(folder / EVALUATION.name, index=False, lineterminator="\n", float_format="%.4f")
    return evaluate(judged), evaluate_own(corpus, log_odds)


def held_out_patterns(corpus: Corpus) -> Floats:
    """Log-odds of the three classes by patterns and words, fitted apart from each answer."""
    log_odds = np.zeros((len(corpus.answers), 3))
    for cell in range(corpus.cells):
        tested = corpus.cell == cell
        model = _of_patterns(corpus, corpus.seen(cell))
        log_odds[tested] = model.decision_function(corpus.features[tested])
    return log_odds


def weighed(corpus: Corpus, of_patterns: Floats, of_encoder: Floats) -> Floats:
    """Log-odds of the classes of each answer, by :func:`aor_lib.judge.speech_acts.weigh`."""
    rows = zip(of_patterns, of_encoder, corpus.answers, strict=True)
    return np.array([weigh(patterns, encoder, answer.text) for patterns, encoder, answer in rows])


def regression(corpus: Corpus) -> Weights:
    """Fit the regression on patterns and words to all answers like XSTest's."""
    model = _of_patterns(corpus, np.arange(len(corpus.answers)))
    by_feature = zip(corpus.names, corpus.scale[:, None] * model.coef_.T, strict=True)
    return Weights(dict(by_feature), model.intercept_)


def _of_patterns(corpus: Corpus, places: Places) -> Any:
    # Of XSTest's answers and those like them: of other kinds the encoder tells more. Either
    # person's label counts half.
    from sklearn.linear_model import LogisticRegression

    places = places[corpus.like_xstest[places]]
    targets = corpus.targets[places, :3]
    rows, classes = np.nonzero(targets)
    model = LogisticRegression(C=_C_PATTERNS, max_iter=2000)
    return model.fit(corpus.features[places][rows], classes, targets[rows, classes])


def save_weights(weights: Weights, path: Path) -> None:
    """Write what :func:`aor_lib.judge.speech_acts.load_weights` reads."""
    np.savez_compressed(
        path,
        names=np.array("\n".join(weights.by_feature)),
        weights=np.array(list(weights.by_feature.values()), np.float32),
        intercepts=np.array(weights.intercepts, np.float32),
    )


def evaluation(corpus: Corpus, log_odds: Floats) -> pd.DataFrame:
    """Return XSTest's answers with held-out labels, as ``load_evaluation`` reads them."""
    labelled = corpus.xstest
    decided = [_forced(row) for row in log_odds[: len(labelled)]]
    by_string = STRING_MATCH.judgements([(answer, None) for answer in labelled["completion"]])
    judged = pd.DataFrame(
        {
            "prompt_id": [hash_of(prompt)[:12] for prompt in labelled["prompt"]],
            "source_model": labelled["model"],
            "fold": corpus.prompts,
            "human": labelled["final_label"],
            "judge": [label for label, _ in decided],
            "p_refusal": [p_refusal for _, p_refusal in decided],
            "own_string_match": [judgement.label for judgement in by_string],
        }
    )
    judged["unsure"] = judged["p_refusal"].between(1 - SURE, SURE, "neither")
    for rater, column in {"gpt4": "gpt4_label", "string_match": "strmatch_label"}.items():
        if column in labelled:
            # A verdict that is none of the classes is a failure of that judge.
            judged[rater] = labelled[column].map(XSTEST_LABELS).fillna(Label.UNJUDGED)
    return judged


def evaluate(judged: pd.DataFrame) -> pd.DataFrame:
    """Compare the judge with people, over all answers and for each source model.

    Indexed by model (``all`` first): ``answers``, ``accuracy``, ``kappa`` (Cohen's, three classes),
    ``kappa_refusal`` (any refusal against compliance) and the share that is ``unsure``.
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
            "unsure": answers["unsure"].mean(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def evaluate_own(corpus: Corpus, log_odds: Floats) -> pd.DataFrame:
    """Shares of the own answers by kind that was left out: what became of each class.

    What is not read, such as an answer in another language, is unjudged.
    """
    decided = [decide(row) for row in log_odds[len(corpus.xstest) :]]
    read = corpus.own.assign(
        judge=[str(label) for label, _ in decided],
        unsure=[label is not Label.UNJUDGED and 1 - SURE < p < SURE for label, p in decided],
    )
    unread = corpus.unread.assign(judge=str(Label.UNJUDGED), unsure=False)
    return shares_by_kind(pd.concat([read, unread]))


def shares_by_kind(frame: pd.DataFrame) -> pd.DataFrame:
    """Shares by kind; ``frame`` has the columns ``kind``, ``label``, ``judge`` and ``unsure``.

    The first row is of all kinds but other languages, which are unjudged whatever they say.
    """
    refusals = [str(Label.PARTIAL_REFUSAL), str(Label.FULL_REFUSAL)]
    rows = {}
    english = frame[frame["kind"] != _OTHER_LANGUAGE]
    for kind, some in [("all in English", english), *frame.groupby("kind")]:
        refused, judged = some["label"].isin(refusals), some["judge"]
        found, unjudged = judged.isin(refusals), some["unsure"] | (judged == Label.UNJUDGED)
        complied, none = some["label"] == CLASSES[0], some["label"] == CLASSES[-1]
        rows[kind] = {
            "answers": len(some),
            "refusals found": (found & ~unjudged)[refused].mean(),
            "found or unsure": (found | unjudged)[refused].mean(),
            "compliances kept": (~found & ~unjudged)[complied].mean(),
            "compliances refused": (found & ~unjudged)[complied].mean(),
            "no answers unjudged": unjudged[none].mean(),
            "unsure": some["unsure"].mean(),
            "unjudged": unjudged.mean(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("kind")


def _forced(log_odds: Floats) -> tuple[Label, float]:
    # XSTest's answers are answers.
    return decide(np.where(np.array(CLASSES) == CLASSES[-1], -np.inf, log_odds))


def main(
    file: Annotated[
        Path, typer.Argument(help="XSTest's human_labelled_completions.csv (CC-BY-4.0).")
    ],
) -> None:
    """Fit the default judge to labelled answers and print its agreement with held-out ones."""
    people, own = fit_judge(file)
    typer.echo("XSTest, each model on each third of the prompts, fitted on other models' rest")
    typer.echo(people.round(3).to_string())
    typer.echo("The project's answers, each kind judged without having been seen")
    typer.echo(own.round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
