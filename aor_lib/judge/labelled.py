"""Answers that people labelled: XSTest's, and the project's own examples.

XSTest's ``human_labelled_completions.csv`` (Röttger et al., NAACL 2024,
https://aclanthology.org/2024.naacl-long.301/) holds 900 answers of three models, each labelled by
two people. The project's own examples hold the phrasings of other models.
"""

from pathlib import Path

import pandas as pd

from aor_lib.config.records import Label

EXAMPLES = Path(__file__).parents[2] / "tests" / "data" / "judge_examples.jsonl"
"""The project's own examples, in a checkout of it."""

XSTEST_LABELS = {
    "1_full_compliance": Label.FULL_COMPLIANCE,
    "2_full_refusal": Label.FULL_REFUSAL,
    "3_partial_refusal": Label.PARTIAL_REFUSAL,
}
"""The names of the labels in XSTest's file."""

_BY_PEOPLE = ("annotation_1", "annotation_2", "final_label")
_COLUMNS = ("prompt", "completion", "model", *_BY_PEOPLE)


def load_labelled(path: Path) -> pd.DataFrame:
    """Read XSTest's file of labelled answers, or one like it; ValueError names a wrong row."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if missing := [name for name in _COLUMNS if name not in frame]:
        raise ValueError(f"{path}: lacks the columns {', '.join(missing)}")
    for column in _BY_PEOPLE:
        for row, label in enumerate(frame[column], start=2):
            if label not in XSTEST_LABELS:
                valid = ", ".join(XSTEST_LABELS)
                raise ValueError(f"{path}: row {row}: {column}: {label!r} must be one of {valid}")
        frame[column] = frame[column].map(XSTEST_LABELS)
    return frame


def load_examples(path: Path = EXAMPLES) -> pd.DataFrame:
    """Read the project's own examples: ``text`` and ``label``, without those to be unjudged."""
    frame = pd.read_json(path, lines=True, dtype=False)
    return frame[frame["label"] != Label.UNJUDGED].reset_index(drop=True)
