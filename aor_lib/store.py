"""The one place where results are kept: a SQLite file, one row a trial, committed as it arrives.

Write-ahead logging lets a reader look while a run goes on, and a killed run loses nothing that was
committed. A finished trial is never run again; a failed one is, and its row is replaced.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from aor_lib.records import Response, Trial, Verdict, content_hash

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trials (
    trial_key TEXT PRIMARY KEY,
    stimulus_sha256 TEXT NOT NULL,
    model TEXT NOT NULL,
    revision TEXT NOT NULL,
    settings_sha256 TEXT NOT NULL,
    instruction TEXT,
    generation TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS plan (
    position INTEGER PRIMARY KEY,
    trial_key TEXT NOT NULL REFERENCES trials,
    stimulus_id TEXT NOT NULL,
    mitigation TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS responses (
    trial_key TEXT PRIMARY KEY REFERENCES trials,
    status TEXT NOT NULL,
    text TEXT,
    error TEXT,
    heard TEXT,
    latency_s REAL NOT NULL,
    tokens INTEGER,
    created TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS verdicts (
    trial_key TEXT NOT NULL REFERENCES trials,
    judge TEXT NOT NULL,
    judge_version TEXT NOT NULL,
    response_sha256 TEXT NOT NULL,
    label TEXT NOT NULL,
    score REAL,
    rationale TEXT NOT NULL,
    PRIMARY KEY (trial_key, judge)
) WITHOUT ROWID;
"""


class StoreError(RuntimeError):
    """A results file that cannot be opened, read or written; the message names it."""


class Store:
    """Responses and verdicts by trial key. Close it, or use it in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._named_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)

    def __enter__(self) -> Store:
        """The store itself, open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def set_plan(self, trials: Iterable[Trial]) -> None:
        """Make these the trials of the study; answers that were kept earlier stay."""
        with self._named_errors(), self._db:
            self._db.execute("DELETE FROM plan")
            for trial in trials:
                row = trial.model_dump(mode="json", exclude={"generation"})
                row |= {"trial_key": trial.key, "generation": trial.generation.model_dump_json()}
                planned = {n: row.pop(n) for n in ("stimulus_id", "mitigation")}
                self._insert("INSERT OR IGNORE", "trials", row)
                self._insert("INSERT", "plan", {"trial_key": trial.key, **planned})

    def finished(self) -> set[str]:
        """Keys of the trials that have an answer (failed ones are to be tried again)."""
        return {key for (key,) in self._read("SELECT trial_key FROM responses WHERE status = 'ok'")}

    def record(self, response: Response) -> None:
        """Keep what came back for a planned trial: committed when this returns.

        An answer is never replaced, a failure is.
        """
        with self._named_errors(), self._db:
            self._db.execute(
                "DELETE FROM responses WHERE trial_key = ? AND status != 'ok'",
                (response.trial_key,),
            )
            self._insert("INSERT OR IGNORE", "responses", response.model_dump(mode="json"))

    def unjudged(self, judge: str, version: str) -> Iterator[Response]:
        """Responses without a verdict of this version of the judge on their present text."""
        rows = self._read(
            f"SELECT {', '.join(f'r.{name}' for name in Response.model_fields)}, v.response_sha256"
            " FROM responses r LEFT JOIN verdicts v"
            " ON v.trial_key = r.trial_key AND v.judge = ? AND v.judge_version = ?"
            " ORDER BY r.trial_key",
            (judge, version),
        )
        for *values, judged in rows:
            response = Response(**dict(zip(Response.model_fields, values, strict=True)))
            if judged != _response_sha256(response):
                yield response

    def record_verdicts(self, judged: Iterable[tuple[Response, Verdict]]) -> None:
        """Keep verdicts, replacing earlier ones of the same judge; all or none are committed."""
        with self._named_errors(), self._db:
            for response, verdict in judged:
                row = verdict.model_dump(mode="json")
                row["response_sha256"] = _response_sha256(response)
                self._insert("INSERT OR REPLACE", "verdicts", row)

    def frame(self, judge: str) -> pd.DataFrame:
        """One row a planned trial, with its response and the judge's verdict if there are any."""
        with self._named_errors():
            return pd.read_sql_query(
                "SELECT p.stimulus_id, t.model, t.revision, p.mitigation, p.trial_key,"
                " r.status, r.text AS response, r.error, r.heard, r.latency_s, r.tokens,"
                " v.label, v.score, v.rationale"
                " FROM plan p JOIN trials t USING (trial_key)"
                " LEFT JOIN responses r USING (trial_key)"
                " LEFT JOIN verdicts v ON v.trial_key = p.trial_key AND v.judge = ?"
                " ORDER BY p.position",
                self._db,
                params=(judge,),
            )

    def errors(self) -> list[tuple[str, int]]:
        """Errors of the planned trials that failed, the most frequent first, with their number."""
        return self._read(
            "SELECT error, COUNT(*) FROM plan JOIN responses USING (trial_key)"
            " WHERE status != 'ok' GROUP BY error ORDER BY COUNT(*) DESC, error"
        )

    def _read(self, query: str, values: tuple[str, ...] = ()) -> list[Any]:
        with self._named_errors():
            return self._db.execute(query, values).fetchall()

    def _insert(self, verb: str, table: str, row: dict[str, object]) -> None:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        self._db.execute(f"{verb} INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, pd.errors.DatabaseError, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error


def _response_sha256(response: Response) -> str:
    """Hash of what a judge reads, so that a verdict on an older text is not taken for current."""
    return content_hash([response.status, response.text, response.error])
