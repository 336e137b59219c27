"""The one place where results are kept: a SQLite file, one row a trial, committed as it arrives.

Write-ahead logging lets a reader look while a run goes on, and a killed run loses nothing that was
committed. Writers wait for each other, and none holds the file for long. A trial that was answered,
or whose answer was blocked, is never run again; a failed one is, and its row is replaced.

The plan says which trials make up the study. It has parts that are set one by one: the study's own
trials, those that were imported. No part knows of the others' trials, and a trial of two is one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import pandas as pd

from aor_lib.config.errors import AorError
from aor_lib.config.records import Arm, Generation, Response, Trial, Verdict, content_hash
from aor_lib.inference.store_schema import ADDED, SCHEMA

STORE = "results.sqlite"
"""The results of a study, in its folder."""
STUDY = "study"
"""The part of the plan that a study's own models are asked."""
IMPORTED = "imported"
"""The part of the plan that was answered elsewhere."""

_TRIAL = (
    "trial_key",
    *("stimulus_sha256", "model", "revision", "settings_sha256", "instruction", "generation"),
    "steps",
)
_PLAN = ("trial_key", "stimulus_id", "mitigation", "part")
_RESPONSE = tuple(Response.model_fields)
_VERDICT = (*Verdict.model_fields, "response_sha256")
_VERDICTS_AT_ONCE = 500


class StoreError(AorError):
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
            self._db.executescript(SCHEMA)
            for table, column in ADDED.items():
                names = [name for _, name, *_ in self.read(f"PRAGMA table_info ({table})")]
                if column.split()[0] not in names:
                    self._db.execute(f"ALTER TABLE {table} ADD COLUMN {column}")

    def __enter__(self) -> Store:
        """The store itself, open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """What is written in the block is kept when it ends; after an error, none of it is."""
        if self._db.in_transaction:  # part of a larger one
            yield self._db
            return
        with self._named_errors(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db

    def read(self, query: str, values: tuple[str | None, ...] = ()) -> list[Any]:
        """The rows that an SQL query finds."""
        with self._named_errors():
            return self._db.execute(query, values).fetchall()

    def set_plan(self, trials: Sequence[Trial], part: str = STUDY) -> None:
        """Make these the trials of a part of the plan; answers that were kept earlier stay.

        Raises ``StoreError`` where what was imported of a model does not go with the rest of it.
        """
        plan = [(trial.key, trial.stimulus_id, trial.arm.mitigation, part) for trial in trials]
        present = f"SELECT {', '.join(_PLAN)} FROM plan WHERE part = ? ORDER BY position"
        if plan == self.read(present, (part,)):
            return
        asked = (
            (
                *(trial.key, trial.stimulus_sha256, arm.model, arm.revision),
                *(arm.settings_sha256, arm.instruction, arm.generation.model_dump_json()),
                json.dumps(arm.steps),
            )
            for trial in trials
            for arm in [trial.arm]
        )
        with self.transaction() as db:
            db.execute("DELETE FROM plan WHERE part = ?", (part,))
            db.executemany(_insert("INSERT OR IGNORE", "trials", _TRIAL), asked)
            db.executemany(_insert("INSERT", "plan", _PLAN), plan)
            self._refuse_unlike()

    def planned(self, part: str | None = None) -> list[Trial]:
        """The trials of a part of the plan, or of all of it, in its order; none twice."""
        arms: dict[tuple[str, ...], Arm] = {}
        trials = []
        for stimulus_id, sha256, *values in self.read(
            "SELECT p.stimulus_id, t.stimulus_sha256, t.model, t.revision, t.settings_sha256,"
            " p.mitigation, t.instruction, t.generation, t.steps"
            " FROM plan p JOIN trials t USING (trial_key)"
            " WHERE p.part = ifnull(?, p.part) ORDER BY p.part != 'study', p.position",
            (part,),
        ):
            if tuple(values) not in arms:
                model, revision, settings, mitigation, instruction, generation, steps = values
                arms[tuple(values)] = Arm(
                    *(model, revision, settings, mitigation, instruction),
                    Generation.model_validate_json(generation),
                    tuple(json.loads(steps)),
                )
            trials.append(Trial(stimulus_id, sha256, arms[tuple(values)]))
        return list(dict.fromkeys(trials))

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
        with self.transaction() as db:
            db.executemany(
                _insert("INSERT", "responses", _RESPONSE)
                + f" ON CONFLICT (trial_key) DO UPDATE SET {changes} WHERE status = 'failed'",
                [tuple(response.model_dump(mode="json").values()) for response in responses],
            )

    def answers(self) -> Iterator[tuple[Response, list[Verdict]]]:
        """What came back for planned trials, by key, with the verdicts on its present text.

        Verdicts from before flags were kept are left out: which there were is not known.
        """
        rows = self.read(
            f"SELECT {', '.join(f'r.{name}' for name in _RESPONSE)},"
            f" {', '.join(f'v.{name}' for name in _VERDICT)}"
            " FROM responses r LEFT JOIN verdicts v"
            " ON v.trial_key = r.trial_key AND v.flags IS NOT NULL"
            " WHERE r.trial_key IN (SELECT trial_key FROM plan) ORDER BY r.trial_key, v.judge"
        )
        width = len(_RESPONSE)
        for values, of_one in groupby(rows, lambda row: row[:width]):
            response = Response(**dict(zip(_RESPONSE, values, strict=True)))
            present = _response_sha256(response)
            found = [dict(zip(_VERDICT, row[width:], strict=True)) for row in of_one]
            yield response, [_verdict(row) for row in found if row["response_sha256"] == present]

    def unjudged(self, judge: str, version: str) -> Iterator[Response]:
        """Responses without a verdict of this version of the judge on their present text."""
        rows = self.read(
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
            with self.transaction() as db:
                db.executemany(_insert("INSERT OR REPLACE", "verdicts", _VERDICT), some)

    def frame(self, judge: str) -> pd.DataFrame:
        """One row a planned trial, with its response and the judge's verdict if there are any.

        Trials of the study come first, in their order.
        """
        with self._named_errors():
            return pd.read_sql_query(
                "SELECT p.stimulus_id, t.stimulus_sha256, p.part,"
                " t.model, t.revision, p.mitigation, p.trial_key,"
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

    def errors(self) -> list[tuple[str, str, str, int]]:
        """Why planned trials have no answer: model, status, error, number; most frequent first."""
        return self.read(
            "SELECT model, status, error, COUNT(*) FROM plan"
            " JOIN trials USING (trial_key) JOIN responses USING (trial_key)"
            " WHERE part != 'imported' AND status != 'ok' GROUP BY model, status, error"
            " ORDER BY COUNT(*) DESC, model, status, error"
        )

    def _refuse_unlike(self) -> None:
        """What is imported of a model is of the rest's revision, and was asked in the same way."""
        unlike = (
            "SELECT model, {} FROM plan JOIN trials USING (trial_key) WHERE model IN"
            " (SELECT model FROM plan JOIN trials USING (trial_key) WHERE part = 'imported')"
            " GROUP BY model, {} HAVING COUNT(DISTINCT {}) > 1 LIMIT 1"
        )
        revisions = "'revision: ' || GROUP_CONCAT(DISTINCT revision)"
        settings = "'settings, for mitigation ' || mitigation"
        for model, what in [
            *self.read(unlike.format(revisions, "model", "revision")),
            *self.read(unlike.format(settings, "mitigation, stimulus_id", "trial_key")),
        ]:
            raise StoreError(
                f"{self.path}: model {model!r}: what is imported of it has another {what}; leave "
                "it out (import others with --model), or take out what was imported before "
                f"('aor results forget {model}')"
            )

    def _tried(self, statuses: str, keys: Sequence[str] | None) -> list[tuple[str, str]]:
        """Key and time of the responses with one of these statuses."""
        query = f"SELECT trial_key, created FROM responses WHERE status IN {statuses}"
        if keys is None:
            return self.read(query)
        return self.read(f"{query} AND trial_key IN ({', '.join('?' * len(keys))})", tuple(keys))

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, pd.errors.DatabaseError, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error


def _insert(verb: str, table: str, columns: Sequence[str]) -> str:
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _verdict(row: dict[str, Any]) -> Verdict:
    known = {name: row[name] for name in Verdict.model_fields}
    return Verdict(**known | {"flags": json.loads(row["flags"])})


def _response_sha256(response: Response) -> str:
    """Hash of what a judge reads, so that a verdict on an older text is not taken for current."""
    return content_hash([response.status, response.text, response.error])
