"""How the shipped judge did on answers that people labelled: labels and probabilities, no text.

The answers are XSTest's human-labelled completions (Röttger et al., NAACL 2024,
https://aclanthology.org/2024.naacl-long.301/). ``aor fit-judge`` writes the file: each label in it
is that of a judge fitted without the answer's model and without its prompt.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from aor_lib.config.records import Label

EVALUATION = Path(__file__).parent / "weights" / "xstest_evaluation.csv"
"""The file that comes with the library."""

RATERS = ("judge", "gpt4", "string_match")
"""Columns of labels beside ``human``."""

_COLUMNS = ("prompt_id", "source_model", "fold", "human", "judge", "p_refusal")


def load_evaluation(path: Path = EVALUATION) -> pd.DataFrame:
    """One row a labelled answer: ``prompt_id``, ``source_model``, ``fold``, then labels
    (:class:`aor_lib.config.records.Label`) ``human``, ``judge``, ``gpt4``, ``string_match``, and
    ``p_refusal`` (NaN where unjudged).

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        It lacks a column, or a label is none; the message names the file.
    """
    frame = pd.read_csv(path, dtype={"prompt_id": str, "source_model": str})
    if missing := sorted({*_COLUMNS, *RATERS} - set(frame)):
        raise ValueError(f"{path}: lacks the columns {', '.join(missing)}; run 'aor fit-judge'")
    for column in ("human", *RATERS):
        if not frame[column].isin(list(Label)).all():
            odd = frame.loc[~frame[column].isin(list(Label)), column].iloc[0]
            raise ValueError(f"{path}: {column}: {odd!r} is no label; run 'aor fit-judge'")
    return frame
