"""The tables of the results file, and what their columns hold of a trial or a response.

``trials`` says what was asked, once for each key; ``plan`` which trials make up the study, and
under which stimulus and mitigation; ``responses`` and ``verdicts`` what came of them; ``cards`` and
``provenance`` who answered (:mod:`aor_lib.inference.provenance`); ``locks`` what is being asked
(:mod:`aor_lib.inference.locks`); ``silences`` how often a model was asked and said nothing;
``judge`` whose verdicts are the study's.
"""

import functools
import json
from collections.abc import Sequence
from typing import Any

from aor_lib.config.records import Arm, Generation, Response, Trial, Verdict, content_hash

SCHEMA = """
CREATE TABLE IF NOT EXISTS trials (
    trial_key TEXT PRIMARY KEY,
    stimulus_sha256 TEXT NOT NULL,
    model TEXT NOT NULL,
    revision TEXT NOT NULL,
    settings_sha256 TEXT NOT NULL,
    instruction TEXT,
    generation TEXT NOT NULL,
    steps TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS plan (
    position INTEGER PRIMARY KEY,
    trial_key TEXT NOT NULL REFERENCES trials,
    stimulus_id TEXT NOT NULL,
    mitigation TEXT NOT NULL,
    arm TEXT NOT NULL,
    method TEXT NOT NULL,
    is_control INTEGER NOT NULL,
    part TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS responses (
    trial_key TEXT PRIMARY KEY REFERENCES trials,
    status TEXT NOT NULL,
    text TEXT,
    error TEXT,
    heard TEXT,
    latency_s REAL NOT NULL,
    tokens INTEGER,
    created TEXT NOT NULL,
    finish_reason TEXT,
    served_by TEXT
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
    flags TEXT NOT NULL,
    PRIMARY KEY (trial_key, judge)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cards (model TEXT PRIMARY KEY, card TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS provenance (
    model TEXT NOT NULL,
    revision TEXT NOT NULL,
    profile TEXT NOT NULL,
    aor_version TEXT NOT NULL,
    python TEXT NOT NULL,
    device TEXT NOT NULL,
    libraries TEXT NOT NULL,
    since TEXT NOT NULL,
    PRIMARY KEY (model, revision, profile, aor_version, python, device, libraries)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS silences (
    trial_key TEXT PRIMARY KEY REFERENCES trials,
    times INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS judge (id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS locks (trial_key TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID;
"""

TRIAL = (
    "trial_key",
    "stimulus_sha256",
    "model",
    "revision",
    "settings_sha256",
    "instruction",
    "generation",
    "steps",
)
PLAN = ("trial_key", "stimulus_id", "mitigation", "arm", "method", "is_control", "part")
RESPONSE = tuple(Response.model_fields)
VERDICT = (*Verdict.model_fields, "response_sha256")


def insertion(verb: str, table: str, columns: Sequence[str]) -> str:
    """SQL that inserts a row: ``verb`` is INSERT, INSERT OR IGNORE or INSERT OR REPLACE."""
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def trial_values(trial: Trial) -> tuple[str | None, ...]:
    """Values of the columns ``TRIAL``."""
    arm = trial.arm
    return (
        trial.key,
        trial.stimulus_sha256,
        arm.model,
        arm.revision,
        arm.settings_sha256,
        arm.instruction,
        arm.generation.model_dump_json(),
        json.dumps(arm.steps),
    )


@functools.lru_cache(maxsize=1000)
def arm_of(
    model: str,
    revision: str,
    settings_sha256: str,
    mitigation: str,
    instruction: str | None,
    generation: str,
    steps: str,
    arm: str,
    method: str,
    is_control: int,
) -> Arm:
    """The arm that a trial's columns say, the same object for all of its trials."""
    asked = Generation.model_validate_json(generation), tuple(json.loads(steps))
    compared = arm, method, bool(is_control)
    return Arm(model, revision, settings_sha256, mitigation, instruction, *asked, *compared)


def response_of(values: Sequence[Any]) -> Response:
    """The response that the columns ``RESPONSE`` hold."""
    return Response(**dict(zip(RESPONSE, values, strict=True)))


def response_sha256(response: Response) -> str:
    """Hash of what a judge reads, so that a verdict on an older text is not taken for current."""
    return content_hash([response.status, response.text, response.error])
