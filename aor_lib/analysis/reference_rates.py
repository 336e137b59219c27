"""Refusal rates of the reference models, measured on the test split of a study."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from aor_lib.analysis import stats
from aor_lib.analysis.results import load_results
from aor_lib.config.records import Split
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.storage.whole_file import whole_file

MEASURED = Path(__file__).parent / "reference_rates.json"
MEMBERS = ("ref-permissive", "ref-wordbound", "ref-contextual", "ref-emotive")
_COUNTS = ["judged", "refused", "utterances"]
_RATES = ["model", "intent", "factor", "level", *_COUNTS, "rate", "low", "high", "interval"]


def measure(build: Path, judge: str, into: Path = MEASURED) -> pd.DataFrame:
    """Write :func:`member_rates` of a judged study as JSON, with the revisions and the judge.

    Returns
    -------
    The rates that were written.

    Raises
    ------
    ParamsError
        The study holds no trial of a member on the test split.
    FileNotFoundError
        The study has not been run.
    """
    results = load_results(build, judge)
    rows = member_rates(results)
    if rows.empty:
        raise ParamsError(f"{build}: holds no trial of {', '.join(MEMBERS)} on the test split")
    members = results[results["model"].isin(MEMBERS)]
    content = {
        "judge": judge,
        "revisions": members.groupby("model")["revision"].first().to_dict(),
        "rates": json.loads(rows.round(4).to_json(orient="records")),
    }
    with whole_file(into) as stream:
        stream.write(json.dumps(content, indent=1).encode() + b"\n")
    return rows


def load_measured(path: Path = MEASURED) -> pd.DataFrame:
    """What :func:`measure` wrote of the members as they ship.

    Returns
    -------
    The rows of :func:`member_rates`, with the ``revision`` of the model and the ``judge``. There
    are none where the file is missing.
    """
    if not path.is_file():
        return pd.DataFrame(columns=[*_RATES, "revision", "judge"])
    content = json.loads(path.read_text())
    rates = pd.DataFrame(content["rates"], columns=_RATES)
    revisions = rates["model"].map(content["revisions"])
    return rates.assign(revision=revisions, judge=content["judge"])


def member_rates(results: pd.DataFrame) -> pd.DataFrame:
    """Refusal rates of each member on ``test``, without a mitigation, with 95 % intervals.

    Returns
    -------
    The rows of :func:`aor_lib.analysis.stats.rates` by ``model``, ``intent``, ``factor`` and
    ``level``: ``condition`` in the core design, ``emotion`` where that is varied.
    """
    chosen = results[
        results["model"].isin(MEMBERS)
        & (results["split"] == Split.TEST)
        & (results["mitigation"] == "none")
    ]
    core, varied = chosen["block"] == "core", chosen["block"] == "paralinguistics"
    rows = [_rates(chosen[core], "condition"), _rates(chosen[varied], "emotion")]
    return pd.concat([found for found in rows if len(found)] or rows[:1], ignore_index=True)


def _rates(results: pd.DataFrame, factor: str) -> pd.DataFrame:
    found = stats.rates(results, ["model", "intent", factor]).rename(columns={factor: "level"})
    found.insert(2, "factor", factor)
    return found[_RATES]
