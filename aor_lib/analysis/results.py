"""A study's folder as frames for analysis."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from aor_lib.config.params import ModelCard, load_model_cards
from aor_lib.config.profile import PROBES
from aor_lib.config.records import content_hash
from aor_lib.inference.provenance import Provenance, read_cards, read_provenance
from aor_lib.inference.store import STORE, STUDY, Store
from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.stimuli.manifest import load_manifest


def load_results(build: Path | str, judge: str | None = None) -> pd.DataFrame:
    """Trials of a study with their answers and verdicts; those of probes left aside.

    Verdicts are those of ``judge``, or else of the study's own judge.

    Returns
    -------
    One row per trial: the stimulus' columns, and model, revision, mitigation, status, response,
    error, heard, latency_s, tokens, label, score, rationale, flags. ``status`` is ``missing`` where
    a planned trial has not been run. Answers to harmful utterances are not shown anywhere:
    ``response`` and ``rationale`` are None there. ``flags`` is a JSON list of what the judge noted
    beside the label (None without a verdict).

    Raises
    ------
    FileNotFoundError
        If the study has no manifest, or has not been run.
    """
    trials = _load_trials(Path(build), judge)
    return trials[~trials["mitigation"].isin(PROBES)].reset_index(drop=True)


def load_probes(build: Path | str) -> pd.DataFrame:
    """Trials that ask what is heard: rows as of :func:`load_results`, without verdicts."""
    trials = _load_trials(Path(build), None)
    return trials[trials["mitigation"].isin(PROBES)].reset_index(drop=True)


def _load_trials(build: Path, judge: str | None) -> pd.DataFrame:
    manifest = load_manifest(build)
    if not (build / STORE).is_file():
        raise FileNotFoundError(f"{build / STORE} does not exist; run 'aor run' first")
    with Store(build / STORE) as store:
        trials = store.frame(judge or store.judge() or DEFAULT_JUDGE)
    results = manifest.merge(trials, on="stimulus_id", how="inner", validate="one_to_many")
    # The study's own trials are planned anew when stimuli have changed; others may be of old ones.
    content = [
        sha256 if history == "[]" else content_hash([sha256, history])
        for sha256, history in zip(results["sha256"], results["history"], strict=True)
    ]
    current = (results["part"] == STUDY) | (results["stimulus_sha256"] == content)
    results = results[current].drop(columns=["stimulus_sha256", "part"])
    results["status"] = results["status"].fillna("missing")
    results["is_control"] = results["is_control"].astype(bool)
    results[["response", "rationale"]] = results[["response", "rationale"]].mask(
        results["intent"] == "harmful", None
    )
    return results


def load_cards(build: Path | str) -> dict[str, ModelCard]:
    """Model cards by id: those of the params, and those of every model with results here."""
    if not (Path(build) / STORE).is_file():
        return load_model_cards()
    with Store(Path(build) / STORE) as store:
        return load_model_cards() | read_cards(store)


def model_titles(build: Path | str, models: Iterable[str]) -> dict[str, str]:
    """Titles of models for pages, by id: those of their cards, or the ids without one.

    Where two have the same title, their ids are added. Titles of imported cards are untrusted text.
    """
    cards = load_cards(build)
    titles = {model: cards[model].title if model in cards else "" for model in models}
    shared = {title for title, times in Counter(titles.values()).items() if times > 1}
    return {
        model: model if not title.strip() else f"{title} ({model})" if title in shared else title
        for model, title in titles.items()
    }


def load_provenance(build: Path | str) -> pd.DataFrame:
    """Models, revisions and machines that answered, one per row: see :class:`Provenance`.

    ``profile`` is empty for answers of this study, else the study that they were imported from.
    """
    with Store(Path(build) / STORE) as store:
        rows = [row.model_dump() for row in read_provenance(store)]
    return pd.DataFrame(rows, columns=list(Provenance.model_fields))
