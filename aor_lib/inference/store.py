"""Results of a study in one SQLite file; each answer is committed as soon as it arrives.

``plan`` lists the trials in parts (the study's own, imported and steered ones), ``arms`` the models
with the settings and mitigations of their trials, and ``judge`` the id of the study's judge.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from pydantic import TypeAdapter

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Arm, Response, Row, Trial, Verdict
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.asking import Provenance

STORE = "results.sqlite"  # name of the results file in a study's folder
STUDY, IMPORTED, STEERED = "study", "imported", "steering of "
"""Parts of the plan: the study's own, imported, and steered (prefix of the model's id)."""

_RESPONSE, _VERDICT, _PROVENANCE = ([*row.model_fields] for row in (Response, Verdict, Provenance))
_OF_ARM = ("model", "revision", "mitigation", "arm", "method", "is_control")
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS arms (
    arm_id INTEGER PRIMARY KEY, content UNIQUE,
    {", ".join(f"{name} AS (json_extract(content, '$.{name}')) STORED" for name in _OF_ARM)}
);
CREATE TABLE IF NOT EXISTS plan (
    position INTEGER PRIMARY KEY, part, trial_key, stimulus_id, stimulus_sha256, arm_id
);
CREATE VIEW IF NOT EXISTS trials AS SELECT * FROM plan JOIN arms USING (arm_id);
CREATE TABLE IF NOT EXISTS responses (
    {", ".join(_RESPONSE)}, PRIMARY KEY (trial_key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS responses_by_status ON responses (status);
CREATE TABLE IF NOT EXISTS verdicts (
    {", ".join(_VERDICT)}, PRIMARY KEY (trial_key, judge)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS answered_after_a_failure AFTER UPDATE ON responses BEGIN
    DELETE FROM verdicts WHERE trial_key = new.trial_key;
END;
CREATE TABLE IF NOT EXISTS cards (model PRIMARY KEY, card);
CREATE TABLE IF NOT EXISTS provenance (
    {", ".join(_PROVENANCE)}, UNIQUE ({", ".join(_PROVENANCE[:-1])})
);
CREATE TABLE IF NOT EXISTS judge (id);
"""
_IN_PLAN = "WHERE trial_key IN (SELECT trial_key FROM plan)"
_ARM = TypeAdapter(Arm)
_arm = lru_cache(maxsize=1000)(_ARM.validate_json)
_Row = TypeVar("_Row", bound=Row)


class StoreError(AorError):
    """Error for a results file that cannot be opened, read or written; the message names it."""


class Store(AbstractContextManager["Store"]):
    """Responses and verdicts by trial key. Use it in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._named_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60)
            for _ in range(1200):  # SQLite does not wait here for other users of the file
                try:
                    self._db.execute("PRAGMA journal_mode = WAL")
                    break
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                        raise
                    time.sleep(0.05)
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit on exit; roll back on error. A transaction within another is part of it."""
        if self._db.in_transaction:
            yield
            return
        with self._named_errors(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield

    def set_plan(self, trials: Sequence[Trial], part: str = STUDY) -> None:
        """Set the trials of a part of the plan; StoreError if imported ones conflict with them."""
        columns = "part, trial_key, stimulus_id, stimulus_sha256"
        present = f"SELECT {columns}, content FROM trials WHERE part = ? ORDER BY position"
        planned = "SELECT ?, ?, ?, ?, arm_id FROM arms WHERE content = ?"
        rows = [
            (part, t.key, t.stimulus_id, t.stimulus_sha256, _ARM.dump_json(t.arm).decode())
            for t in trials
        ]
        with self.transaction():
            if rows != self._read(present, part):  # a run on the same plan writes nothing
                arms = list(dict.fromkeys(row[-1:] for row in rows))
                self._write("INSERT OR IGNORE INTO arms (content) VALUES (?)", arms)
                self._write("DELETE FROM plan WHERE part = ?", [(part,)])
                self._write(f"INSERT INTO plan ({columns}, arm_id) {planned}", rows)
                self.refuse_unlike()

    def planned(self, part: str | None = None) -> list[Trial]:
        """Trials of a part of the plan, or of the whole plan, in order, without duplicates."""
        which = "WHERE part = ifnull(?, part) ORDER BY part != 'study', position"
        rows = self._read(f"SELECT stimulus_id, stimulus_sha256, content FROM trials {which}", part)
        return list(dict.fromkeys(Trial(name, sha256, _arm(arm)) for name, sha256, arm in rows))

    def forget_imported(self, model: str) -> int:
        """Remove a model's imported trials and their answers; return the number of trials.

        Trials in another part of the plan keep their answers. StoreError if none were imported.
        """
        which = "part = 'imported' AND arm_id IN (SELECT arm_id FROM arms WHERE model = ?)"
        others = "SELECT trial_key FROM plan WHERE part != 'imported'"
        keys = f"SELECT trial_key FROM plan WHERE {which} AND trial_key NOT IN ({others})"
        with self.transaction():
            for table in ("responses", "verdicts"):
                self._write(f"DELETE FROM {table} WHERE trial_key IN ({keys})", [(model,)])
            self._write("DELETE FROM provenance WHERE model = ? AND profile != ''", [(model,)])
            if count := self._write(f"DELETE FROM plan WHERE {which}", [(model,)]):
                return count
            names = ", ".join(sorted({t.arm.model for t in self.planned(IMPORTED)})) or "none"
            raise StoreError(f"{self.path}: no imported model {model!r}; imported: {names}")

    def finished(self, keys: Sequence[str] | None = None) -> set[str]:
        """Keys of answered or blocked trials; if given, only among ``keys``."""
        query = "SELECT trial_key FROM responses WHERE status != 'failed'"
        if keys is not None:
            query += f" AND trial_key IN ({_marks(len(keys))})"
        return {key for (key,) in self._read(query, *keys or ())}

    def record(self, responses: Iterable[Response]) -> int:
        """Commit responses and return how many were written; only failures are replaced."""
        insert = f"INSERT INTO responses VALUES ({_marks(len(_RESPONSE))}) ON CONFLICT (trial_key)"
        changes = ", ".join(f"{name} = excluded.{name}" for name in _RESPONSE)
        which = "WHERE status = 'failed' AND created != excluded.created"
        return self._write(f"{insert} DO UPDATE SET {changes} {which}", [*map(_values, responses)])

    def responses(self) -> list[Response]:
        """Responses to planned trials, sorted by key."""
        return self._rows(Response, f"FROM responses {_IN_PLAN}")

    def verdicts(self) -> list[Verdict]:
        """Verdicts on the responses to planned trials, sorted by key."""
        return self._rows(Verdict, f"FROM verdicts {_IN_PLAN}")

    def unjudged(self, judge: str, version: str) -> list[Response]:
        """Responses to planned trials without a verdict of this judge version, sorted by key."""
        judged = "SELECT trial_key FROM verdicts WHERE judge = ? AND judge_version = ?"
        which = f"FROM responses {_IN_PLAN} AND trial_key NOT IN ({judged})"
        return self._rows(Response, which, judge, version)

    def record_verdicts(self, judged: Iterable[tuple[Response, Verdict]]) -> None:
        """Record verdicts, replacing earlier ones, unless a run has since replaced the response."""
        query = f"SELECT {_marks(len(_VERDICT))} FROM responses WHERE trial_key = ? AND created = ?"
        rows = [(*_values(verdict), of.trial_key, of.created) for of, verdict in judged]
        self._write(f"INSERT OR REPLACE INTO verdicts {query}", rows)

    def set_judge(self, judge: str) -> None:
        """Set the study's judge; verdicts of other judges are kept."""
        self._write("INSERT OR REPLACE INTO judge (rowid, id) VALUES (1, ?)", [(judge,)])

    def judge(self) -> str | None:
        """Id of the study's judge; None if nothing was judged."""
        rows = self._read("SELECT id FROM judge")
        return str(rows[0][0]) if rows else None

    def frame(self, judge: str) -> pd.DataFrame:
        """One row per planned trial, the study's own first, with any response and verdict."""
        with self._named_errors():
            return pd.read_sql_query(
                f"SELECT stimulus_id, stimulus_sha256, part, {', '.join(_OF_ARM)}, p.trial_key,"
                " status, text AS response, error, heard, latency_s, tokens,"
                " label, p_refusal, rationale, flags, judge_version"
                " FROM (SELECT *, MIN((part != 'study') * 1e15 + position) AS place"
                " FROM trials GROUP BY trial_key, stimulus_id, mitigation) p"
                " LEFT JOIN responses r USING (trial_key)"
                " LEFT JOIN verdicts v ON v.trial_key = p.trial_key AND v.judge = ?"
                " ORDER BY place",
                self._db,
                params=(judge,),
            )

    def served_by(self, model: str, revision: str) -> str | None:
        """Provider's name for the model that gave the planned answers; None if there is none."""
        answers = "SELECT MAX(served_by) FROM trials JOIN responses USING (trial_key)"
        [[name]] = self._read(f"{answers} WHERE model = ? AND revision = ?", model, revision)
        return name or None

    def record_cards(self, cards: Iterable[ModelCard]) -> None:
        """Record model cards, replacing earlier cards of the same models."""
        rows = [(card.id, card.model_dump_json()) for card in cards]
        self._write("INSERT OR REPLACE INTO cards VALUES (?, ?)", rows)

    def cards(self) -> dict[str, ModelCard]:
        """Model cards by the models' ids."""
        rows = self._read("SELECT model, card FROM cards ORDER BY model")
        return {model: ModelCard.model_validate_json(card) for model, card in rows}

    def record_provenance(self, rows: Iterable[Provenance]) -> None:
        """Record provenances; those already recorded keep their dates."""
        statement = f"INSERT OR IGNORE INTO provenance VALUES ({_marks(len(_PROVENANCE))})"
        self._write(statement, list(map(_values, rows)))

    def provenance(self) -> list[Provenance]:
        """All provenances, sorted by model."""
        return self._rows(Provenance, "FROM provenance")

    def refuse_unlike(self) -> None:
        """Raise StoreError if an imported model's revision, provider's model or settings differ."""
        names = {"revision": "revision", "provider's model": "served_by", "settings": "trial_key"}
        for what, name in names.items():
            group = "model, mitigation, stimulus_id" if name == "trial_key" else "model"
            unlike = self._read(
                f"SELECT model, mitigation, group_concat(DISTINCT {name})"
                " FROM trials LEFT JOIN responses USING (trial_key)"
                " WHERE model IN (SELECT model FROM trials WHERE part = 'imported')"
                f" GROUP BY {group} HAVING count(DISTINCT {name}) > 1 LIMIT 1"
            )
            for model, mitigation, values in unlike:
                trials = f"model {model!r}, mitigation {mitigation!r}: was imported"
                remedy = f"remove it ('aor import --forget {model}')"
                raise StoreError(f"{self.path}: {trials} with another {what}: {values}; {remedy}")

    def _rows(self, kind: type[_Row], which: str, *parameters: str) -> list[_Row]:
        names, rows = list(kind.model_fields), []
        for values in self._read(f"SELECT {', '.join(names)} {which} ORDER BY 1, 2", *parameters):
            row = dict(zip(names, values, strict=True))
            row |= {name: json.loads(row[name]) for name in ("flags", "libraries") if name in row}
            rows.append(kind(**row))
        return rows

    def _read(self, query: str, *values: str | None) -> list[Any]:
        with self._named_errors():
            return self._db.execute(query, values).fetchall()

    def _write(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        with self.transaction():
            return self._db.executemany(statement, rows).rowcount

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, pd.errors.DatabaseError, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error


def open_results(build: Path) -> Store:
    """Open the results of a study's folder; FileNotFoundError if it has none."""
    if not (build / STORE).is_file():
        raise FileNotFoundError(f"{build / STORE} does not exist; run 'aor run' first")
    return Store(build / STORE)


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _values(row: Row) -> list[Any]:
    fields = row.model_dump(mode="json").values()
    return [json.dumps(v, sort_keys=True) if isinstance(v, dict | list) else v for v in fields]
