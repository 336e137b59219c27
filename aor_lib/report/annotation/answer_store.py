"""What people said of answers: in the file that also keeps what they said of clips."""

from __future__ import annotations

import datetime
from pathlib import Path

import pandas as pd

from aor_lib.config.records import Label
from aor_lib.report.annotation.store import LabelStore, LabelStoreError, check_listener

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answer_labels (
    annotator TEXT NOT NULL,
    answer_sha256 TEXT NOT NULL,
    label TEXT NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (annotator, answer_sha256)
) WITHOUT ROWID;
"""


class AnswerStore(LabelStore):
    """Labels by annotator and answer. Close it, or use it in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._access():
            self._db.executescript(_SCHEMA)

    def record_answer(self, annotator: str, answer_sha256: str, label: str) -> None:
        """Keep an annotator's label of an answer, replacing an earlier one: committed on return.

        Parameters
        ----------
        annotator
            A pseudonym of small letters, digits, ``.``, ``_`` and ``-``.
        answer_sha256
            See :func:`aor_lib.report.annotation.answers.load_answers`.
        label
            A value of :class:`aor_lib.config.records.Label`; ``unjudged`` where it cannot be read.

        Raises
        ------
        LabelStoreError
            A value is not as above, or the file cannot be written; the message names it.
        """
        check_listener(annotator)
        if label not in list(Label):
            raise LabelStoreError(
                f"{self.path}: label: {label!r} is not one of {', '.join(Label)}; choose one"
            )
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with self._access(), self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO answer_labels VALUES (?, ?, ?, ?)",
                (annotator, answer_sha256, str(label), created),
            )

    def answer_labels(self) -> pd.DataFrame:
        """All labels: ``annotator``, ``answer_sha256``, ``label``, ``created`` (UTC, ISO 8601),
        ordered by answer and annotator.
        """
        with self._access():
            return pd.read_sql_query(
                "SELECT annotator, answer_sha256, label, created FROM answer_labels"
                " ORDER BY answer_sha256, annotator",
                self._db,
            )
