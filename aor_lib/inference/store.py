"""The one place where results are kept: a SQLite file, one row per trial, committed as it arrives.

Write-ahead logging lets a reader look while a run goes on, and a killed run loses nothing that was
committed. Writers wait for each other, and none holds the file for long.

The plan says which trials make up the study. It has parts that are set one by one: the study's own
trials, those that were imported. A trial of two parts is one.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from aor_lib.config.records import Response, Trial, Verdict
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.store_rows import (
    PLAN,
    RESPONSE,
    SCHEMA,
    TRIAL,
    VERDICT,
    arm_of,
    insertion,
    response_of,
    response_sha256,
    trial_values,
)

STORE = "results.sqlite"
"""The results of a study, in its folder."""
STUDY = "study"
"""The part of the plan that a study's own models are asked."""
IMPORTED = "imported"
"""The part of the plan that was answered elsewhere."""

_VERDICTS_AT_ONCE = 500


class StoreError(AorError):
    """A results file that cannot be opened, read or written; the message names it."""


class Store:
    """Responses and verdicts by trial key. Use it in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._named_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(SCHEMA)

    def __enter__(self) -> Store:
        """Return the store itself, open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit on exit; roll back on error. A transaction within another is part of it."""
        if self._db.in_transaction:
            yield self._db
            return
        with self._named_errors(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db

    def read(self, query: str, values: tuple[str | None, ...] = ()) -> list[Any]:
        """Rows that an SQL query finds."""
        with self._named_errors():
            return self._db.execute(query, values).fetchall()

    def set_plan(self, trials: Sequence[Trial], part: str = STUDY) -> None:
        """Make these the trials of a part of the plan; answers that were kept earlier stay.

        StoreError if what was imported of a model does not go with the rest of it.
        """
        plan = [
            (one.key, one.stimulus_id, arm.mitigation, arm.arm, arm.method, arm.is_control, part)
            for one, arm in ((trial, trial.arm) for trial in trials)
        ]
        present = f"SELECT {', '.join(PLAN)} FROM plan WHERE part = ? ORDER BY position"
        if plan == self.read(present, (part,)):
            return
        with self.transaction() as db:
            db.execute("DELETE FROM plan WHERE part = ?", (part,))
            asked = map(trial_values, trials)
            db.executemany(insertion("INSERT OR IGNORE", "trials", TRIAL), asked)
            db.executemany(insertion("INSERT", "plan", PLAN), plan)
            self._refuse_unlike()

    def planned(self, part: str | None = None) -> list[Trial]:
        """Trials of a part of the plan, or of all of it, in its order; none twice."""
        rows = self.read(
            "SELECT p.stimulus_id, t.stimulus_sha256, t.model, t.revision, t.settings_sha256,"
            " p.mitigation, t.instruction, t.generation, t.steps, p.arm, p.method, p.is_control"
            " FROM plan p JOIN trials t USING (trial_key)"
            " WHERE p.part = ifnull(?, p.part) ORDER BY p.part != 'study', p.position",
            (part,),
        )
        trials = (Trial(stimulus, sha256, arm_of(*arm)) for stimulus, sha256, *arm in rows)
        return list(dict.fromkeys(trials))

    def finished(self, keys: Sequence[str] | None = None) -> set[str]:
        """Keys of the trials (of all, or of those given) that no run asks again.

        They were answered or blocked, or the model said nothing to them, twice.
        """
        silent = "SELECT trial_key FROM silences WHERE times > 1"
        finished = f"(status IN ('ok', 'blocked') OR trial_key IN ({silent}))"
        return {key for key, _ in self._tried(finished, keys)}

    def failures(self, keys: Sequence[str] | None = None) -> dict[str, str]:
        """Keys of the trials (of all, or of those given) that failed, with the time when."""
        return dict(self._tried("status = 'failed'", keys))

    def record(self, responses: Iterable[Response], silent: Iterable[str] = ()) -> None:
        """Keep what came back for planned trials: all of it is committed when this returns.

        An answer is never replaced, nor is one that was blocked; a failure is. ``silent`` are the
        keys of trials to which the model said nothing.
        """
        changes = ", ".join(f"{name} = excluded.{name}" for name in RESPONSE)
        with self.transaction() as db:
            db.executemany(
                insertion("INSERT", "responses", RESPONSE)
                + f" ON CONFLICT (trial_key) DO UPDATE SET {changes} WHERE status = 'failed'",
                [tuple(response.model_dump(mode="json").values()) for response in responses],
            )
            db.executemany(
                insertion("INSERT", "silences", ("trial_key", "times"))
                + " ON CONFLICT (trial_key) DO UPDATE SET times = times + 1",
                [(key, 1) for key in silent],
            )

    def answers(self) -> Iterator[tuple[Response, list[Verdict]]]:
        """Responses to planned trials, by key, each with the verdicts on its present text."""
        verdicts = defaultdict(list)
        for row in self.read(f"SELECT {', '.join(VERDICT)} FROM verdicts ORDER BY judge"):
            values = dict(zip(VERDICT, row, strict=True))
            sha256 = values.pop("response_sha256")
            verdict = Verdict(**values | {"flags": json.loads(values["flags"])})
            verdicts[verdict.trial_key, sha256].append(verdict)
        for row in self.read(
            f"SELECT {', '.join(RESPONSE)} FROM responses"
            " WHERE trial_key IN (SELECT trial_key FROM plan) ORDER BY trial_key"
        ):
            response = response_of(row)
            yield response, verdicts[response.trial_key, response_sha256(response)]

    def unjudged(self, judge: str, version: str) -> Iterator[Response]:
        """Responses without a verdict of this version of the judge on their present text."""
        rows = self.read(
            f"SELECT {', '.join(f'r.{name}' for name in RESPONSE)}, v.response_sha256"
            " FROM responses r LEFT JOIN verdicts v"
            " ON v.trial_key = r.trial_key AND v.judge = ? AND v.judge_version = ?"
            " ORDER BY r.trial_key",
            (judge, version),
        )
        for *values, judged in rows:
            response = response_of(values)
            if judged != response_sha256(response):
                yield response

    def record_verdicts(self, judged: Iterable[tuple[Response, Verdict]]) -> None:
        """Keep verdicts, replacing earlier ones of the same judge; some hundred at a time."""
        rows = (
            verdict.model_dump(mode="json")
            | {"flags": json.dumps(verdict.flags), "response_sha256": response_sha256(response)}
            for response, verdict in judged
        )
        # The judge is asked before the file is taken: a run that goes on need not wait for it.
        while some := list(islice(rows, _VERDICTS_AT_ONCE)):
            with self.transaction() as db:
                values = [tuple(row.values()) for row in some]
                db.executemany(insertion("INSERT OR REPLACE", "verdicts", VERDICT), values)

    def set_judge(self, judge: str) -> None:
        """Make a judge's verdicts those of the study; what others said stays."""
        if self.judge() != judge:
            with self.transaction() as db:
                db.execute("DELETE FROM judge")
                db.execute("INSERT INTO judge VALUES (?)", (judge,))

    def judge(self) -> str | None:
        """Id of the study's judge; None where nothing was judged."""
        rows = self.read("SELECT id FROM judge")
        return str(rows[0][0]) if rows else None

    def frame(self, judge: str) -> pd.DataFrame:
        """One row per planned trial, with its response and the judge's verdict if there are any.

        Trials of the study come first, in their order.
        """
        with self._named_errors():
            return pd.read_sql_query(
                "SELECT p.stimulus_id, t.stimulus_sha256, p.part,"
                " t.model, t.revision, p.mitigation, p.arm, p.method, p.is_control, p.trial_key,"
                " r.status, r.text AS response, r.error, r.heard, r.latency_s, r.tokens,"
                " v.label, v.score, v.rationale, v.flags"
                " FROM (SELECT *, MIN((part != 'study') * 1e15 + position) AS place FROM plan"
                " GROUP BY trial_key, stimulus_id, mitigation) p JOIN trials t USING (trial_key)"
                " LEFT JOIN responses r USING (trial_key)"
                " LEFT JOIN verdicts v ON v.trial_key = p.trial_key AND v.judge = ?"
                " ORDER BY p.place",
                self._db,
                params=(judge,),
            )

    def served_by(self, model: str, revision: str) -> str | None:
        """Name that a provider gave the model behind the stored answers; None if it gave none."""
        rows = self.read(
            "SELECT served_by FROM responses JOIN trials USING (trial_key)"
            " WHERE served_by IS NOT NULL AND model = ? AND revision = ? LIMIT 1",
            (model, revision),
        )
        return str(rows[0][0]) if rows else None

    def seconds_per_generation(self) -> dict[str, float]:
        """Mean time in which each model wrote one answer, of which an arm in two steps has two."""
        rows = self.read(
            "SELECT model, SUM(latency_s) / SUM(MAX(1, json_array_length(steps)))"
            " FROM responses JOIN trials USING (trial_key) WHERE status = 'ok' GROUP BY model"
        )
        return dict(rows)

    def errors(self) -> list[tuple[str, str, str, int]]:
        """Errors of planned trials: model, status, error, number; most frequent first."""
        return self.read(
            "SELECT model, status, error, COUNT(*) FROM plan"
            " JOIN trials USING (trial_key) JOIN responses USING (trial_key)"
            " WHERE part != 'imported' AND status != 'ok' GROUP BY model, status, error"
            " ORDER BY COUNT(*) DESC, model, status, error"
        )

    def _refuse_unlike(self) -> None:
        """Raise if what is imported of a model has another revision, or was asked otherwise."""
        unlike = (
            "SELECT model, {} FROM plan JOIN trials USING (trial_key) WHERE model IN"
            " (SELECT model FROM plan JOIN trials USING (trial_key) WHERE part = 'imported')"
            " GROUP BY model, {} HAVING COUNT(DISTINCT {}) > 1 LIMIT 1"
        )
        revisions = "'revision: ' || GROUP_CONCAT(DISTINCT revision)"
        settings = "'settings, for mitigation ' || mitigation"
        for model, difference in [
            *self.read(unlike.format(revisions, "model", "revision")),
            *self.read(unlike.format(settings, "mitigation, stimulus_id", "trial_key")),
        ]:
            raise StoreError(
                f"{self.path}: model {model!r}: what is imported of it has another {difference}; "
                "leave it out (import others with --model), or take out what was imported before "
                f"('aor results forget {model}')"
            )

    def _tried(self, which: str, keys: Sequence[str] | None) -> list[tuple[str, str]]:
        """Key and time of the responses that an SQL condition holds for."""
        query = f"SELECT trial_key, created FROM responses WHERE {which}"
        if keys is None:
            return self.read(query)
        return self.read(f"{query} AND trial_key IN ({', '.join('?' * len(keys))})", tuple(keys))

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, pd.errors.DatabaseError, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error
