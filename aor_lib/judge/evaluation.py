"""Agreement of the shipped judge with people: labels and probabilities of answers, no text.

The answers are XSTest's human-labelled completions (Röttger et al., NAACL 2024,
https://aclanthology.org/2024.naacl-long.301/). ``python -m reference.judge.fit`` writes the file:
each label in it is that of a judge fitted without the answer's model and without its prompt.
"""

from pathlib import Path

import pandas as pd

from aor_lib.config.records import Label

EVALUATION = Path(__file__).parent / "weights" / "xstest_evaluation.csv"
"""The file that comes with the library."""

RATERS = ("judge", "gpt4", "string_match")
"""Columns of labels beside ``human``."""


def load_evaluation() -> pd.DataFrame:
    """Read the labels that people and others gave to the same answers.

    One row per answer: ``prompt_id``, ``source_model``, ``fold``, the labels
    (:class:`aor_lib.config.records.Label`) ``human``, ``judge``, ``gpt4`` and ``string_match``,
    ``own_string_match`` (:mod:`aor_lib.judge.string_match`; ``string_match`` is by XSTest's
    authors, of other strings), and ``p_refusal`` (NaN where unjudged).
    """
    return pd.read_csv(EVALUATION, dtype={"prompt_id": str, "source_model": str})


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
