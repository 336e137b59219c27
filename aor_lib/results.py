"""What a study's folder holds, as frames for analysis."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.records import Stimulus
from aor_lib.store import Store

MANIFEST = "manifest.parquet"
VALIDATION = "validation.parquet"
STORE = "results.sqlite"


def load_manifest(build: Path | str) -> pd.DataFrame:
    """One row a stimulus; the columns are the fields of :class:`aor_lib.records.Stimulus`.

    Raises
    ------
    FileNotFoundError
        The data has not been built; the message says how.
    """
    return _table(Path(build) / MANIFEST, "aor data")


def load_stimuli(build: Path | str) -> list[Stimulus]:
    """The manifest as records. Raises as :func:`load_manifest`."""
    rows = load_manifest(build).astype(object)
    rows = rows.where(rows.notna(), None)
    return [Stimulus.model_validate(row) for row in rows.to_dict("records")]


def load_validation(build: Path | str) -> pd.DataFrame:
    """What ``aor validate`` measured: one row a stimulus, see :class:`aor_lib.validation.Measured`.

    Raises
    ------
    FileNotFoundError
        The data has not been validated; the message says how.
    """
    return _table(Path(build) / VALIDATION, "aor validate")


def load_results(build: Path | str, judge: str = DEFAULT_JUDGE) -> pd.DataFrame:
    """One row a trial: the stimulus' columns, and model, revision, mitigation, status, response,
    error, heard, latency_s, tokens, label, score, rationale, flags.

    ``status`` is ``missing`` where a planned trial has not been run. What a model answered to a
    harmful utterance is not shown anywhere: ``response`` and ``rationale`` are None there.
    ``flags`` is a JSON list of what the judge noted beside the label (None without a verdict).
    """
    build = Path(build)
    manifest = load_manifest(build)
    if not (build / STORE).is_file():
        raise FileNotFoundError(f"{build / STORE} does not exist; run 'aor run' first")
    with Store(build / STORE) as store:
        trials = store.frame(judge)
    results = manifest.merge(trials, on="stimulus_id", how="inner", validate="one_to_many")
    results["status"] = results["status"].fillna("missing")
    results[["response", "rationale"]] = results[["response", "rationale"]].mask(
        results["intent"] == "harmful", None
    )
    return results


def _table(path: Path, verb: str) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; run '{verb}' first")
    return pd.read_parquet(path)
