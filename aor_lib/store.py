"""The one place where results are kept: a SQLite file, one row a trial, committed as it arrives.

Write-ahead logging lets a reader look while a run goes on, and a killed run loses nothing that was
committed. Writers wait for each other, and none holds the file for long. A trial that was answered,
or whose answer was blocked, is never run again; a failed one is, and its row is replaced.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
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
CREATE INDEX IF NOT EXISTS responses_by_status ON responses (status, created);
CREATE TABLE IF NOT EXISTS verdicts (
    trial_key TEXT NOT NULL REFERENCES trials,
    judge TEXT NOT NULL,
    judge_version TEXT NOT NULL,
    response_sha256 TEXT NOT NULL,
    label TEXT NOT NULL,
    score REAL,
    rationale TEXT NOT NULL,
    flags TEXT,
    PRIMARY KEY (trial_key, judge)
) WITHOUT ROWID;
"""

_TRIAL = (
    "trial_key",
    *("stimulus_sha256", "model", "revision", "settings_sha256", "instruction", "generation"),
)
_PLAN = ("trial_key", "stimulus_id", "mitigation")
_RESPONSE = tuple(Response.model_fields)
_VERDICT = (*Verdict.model_fields, "response_sha256")
_VERDICT_COLUMNS = "PRAGMA table_info (verdicts)"
_VERDICTS_AT_ONCE = 500


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
            if "flags" not in [column for _, column, *_ in self._read(_VERDICT_COLUMNS)]:
                # A file from before flags were kept: of its verdicts they are unknown.
                self._db.execute("ALTER TABLE verdicts ADD COLUMN flags TEXT")

    def __enter__(self) -> Store:
        """The store itself, open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def set_plan(self, trials: Sequence[Trial]) -> None:
        """Make these the trials of the study; answers that were kept earlier stay."""
        plan = [(trial.key, trial.stimulus_id, trial.arm.mitigation) for trial in trials]
        if plan == self._read(f"SELECT {', '.join(_PLAN)} FROM plan ORDER BY position"):
            return
        asked = (
            (
                *(trial.key, trial.stimulus_sha256, arm.model, arm.revision),
                *(arm.settings_sha256, arm.instruction, arm.generation.model_dump_json()),
            )
            for trial in trials
            for arm in [trial.arm]
        )
        with self._named_errors(), self._db:
            self._db.execute("DELETE FROM plan")
            self._db.executemany(_insert("INSERT OR IGNORE", "trials", _TRIAL), asked)
            self._db.executemany(_insert("INSERT", "plan", _PLAN), plan)

    def finished(self, keys: Sequence[str] | None = None) -> set[str]:
        """Keys of the trials (of all, or of those given) that need not be run again.

        They were answered, or their answer was blocked; failed ones are to be tried again.
        """
        return {key for key, _ in self._tried("('ok', 'blocked')", keys)}

    def failures(self, keys: Sequence[str] | None = None) -> dict[str, str]:
        """Keys of the trials (of all, or of those given) that failed, with the time when."""
        return dict(self._tried("('failed')", keys))

    def record(self, responses: Iterable[Response]) -> None:
        """Keep what came back for planned trials: all of it is committed when this returns.

        An answer is never replaced, nor is one that was blocked; a failure is.
        """
        changes = ", ".join(f"{name} = excluded.{name}" for name in _RESPONSE)
        with self._named_errors(), self._db:
            self._db.executemany(
                _insert("INSERT", "responses", _RESPONSE)
                + f" ON CONFLICT (trial_key) DO UPDATE SET {changes} WHERE status = 'failed'",
                [tuple(response.model_dump(mode="json").values()) for response in responses],
            )

    def unjudged(self, judge: str, version: str) -> Iterator[Response]:
        """Responses without a verdict of this version of the judge on their present text."""
        rows = self._read(
            f"SELECT {', '.join(f'r.{name}' for name in _RESPONSE)}, v.response_sha256"
            " FROM responses r LEFT JOIN verdicts v"
            " ON v.trial_key = r.trial_key AND v.judge = ? AND v.judge_version = ?"
            " ORDER BY r.trial_key",
            (judge, version),
        )
        for *values, judged in rows:
            response = Response(**dict(zip(_RESPONSE, values, strict=True)))
            if judged != _response_sha256(response):
                yield response

    def record_verdicts(self, judged: Iterable[tuple[Response, Verdict]]) -> None:
        """Keep verdicts, replacing earlier ones of the same judge; some hundred at a time."""
        rows = (
            (
                *(verdict.model_dump(mode="json") | {"flags": json.dumps(verdict.flags)}).values(),
                _response_sha256(response),
            )
            for response, verdict in judged
        )
        # The judge is asked before the file is taken: a run that goes on need not wait for it.
        while some := list(islice(rows, _VERDICTS_AT_ONCE)):
            with self._named_errors(), self._db:
                self._db.executemany(_insert("INSERT OR REPLACE", "verdicts", _VERDICT), some)

    def frame(self, judge: str) -> pd.DataFrame:
        """One row a planned trial, with its response and the judge's verdict if there are any."""
        with self._named_errors():
            return pd.read_sql_query(
                "SELECT p.stimulus_id, t.model, t.revision, p.mitigation, p.trial_key,"
                " r.status, r.text AS response, r.error, r.heard, r.latency_s, r.tokens,"
                " v.label, v.score, v.rationale, v.flags"
                " FROM plan p JOIN trials t USING (trial_key)"
                " LEFT JOIN responses r USING (trial_key)"
                " LEFT JOIN verdicts v ON v.trial_key = p.trial_key AND v.judge = ?"
                " ORDER BY p.position",
                self._db,
                params=(judge,),
            )

    def errors(self) -> list[tuple[str, str, str, int]]:
        """Why planned trials have no answer: model, status, error, number; most frequent first."""
        return self._read(
            "SELECT model, status, error, COUNT(*) FROM plan"
            " JOIN trials USING (trial_key) JOIN responses USING (trial_key)"
            " WHERE status != 'ok' GROUP BY model, status, error"
            " ORDER BY COUNT(*) DESC, model, status, error"
        )

    def _tried(self, statuses: str, keys: Sequence[str] | None) -> list[tuple[str, str]]:
        """Key and time of the responses with one of these statuses."""
        query = f"SELECT trial_key, created FROM responses WHERE status IN {statuses}"
        if keys is None:
            return self._read(query)
        return self._read(f"{query} AND trial_key IN ({', '.join('?' * len(keys))})", tuple(keys))

    def _read(self, query: str, values: tuple[str, ...] = ()) -> list[Any]:
        with self._named_errors():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, pd.errors.DatabaseError, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error


def _insert(verb: str, table: str, columns: Sequence[str]) -> str:
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _response_sha256(response: Response) -> str:
    """Hash of what a judge reads, so that a verdict on an older text is not taken for current."""
    return content_hash([response.status, response.text, response.error])
