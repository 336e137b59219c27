"""The tables of the results file.

``trials`` says what was asked, once for each key; ``plan`` which trials make up the study, and
under which stimulus and mitigation; ``responses`` and ``verdicts`` what came of them; ``cards`` and
``provenance`` who answered (:mod:`aor_lib.inference.provenance`); ``locks`` what is being asked
(:mod:`aor_lib.inference.locks`); ``silences`` how often a model was asked and said nothing.
"""

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
CREATE TABLE IF NOT EXISTS locks (trial_key TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID;
"""
