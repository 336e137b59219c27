"""Measure the reference models' refusal rates on the test splits of judged studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from aor_lib.analysis.results import load_results
from aor_lib.analysis.selections import REFERENCE_MODELS, core, of_split, unmitigated
from aor_lib.analysis.stats import intervals
from aor_lib.config.params import load_study
from aor_lib.config.records import Condition
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.judge import JUDGES
from aor_lib.storage.atomic_write import atomic_write

MEASURED = Path(__file__).parent / "rates.csv"
_COUNTS = ["judged", "refused", "utterances"]
_RATES = ["model", "intent", "factor", "level", *_COUNTS, "rate", "low", "high"]


def measure(builds: Sequence[Path], judge: str, into: Path = MEASURED) -> pd.DataFrame:
    """Write the :func:`member_rates` of judged studies, with revisions of model and judge.

    Existing rows of members that do not occur in the studies are kept.
    """
    measured = []
    for build in builds:
        results = load_results(build, judge)
        rates = member_rates(results)
        if rates.empty:
            raise ParamsError(
                f"{build}: holds no trial of {', '.join(REFERENCE_MODELS)} on the test split"
            )
        revisions = results.groupby("model")["revision"].first()
        rates = rates.infer_objects().round(4)
        by = f"{judge} {JUDGES[judge].version}"
        measured.append(rates.assign(revision=rates["model"].map(revisions), judge=by))
    rows = pd.concat(measured, ignore_index=True)
    if into.exists():
        before = pd.read_csv(into, dtype={"revision": str})
        rows = pd.concat([before[~before["model"].isin(rows["model"])], rows], ignore_index=True)
    with atomic_write(into) as stream:
        rows.to_csv(stream, index=False)
    return rows


def member_rates(results: pd.DataFrame) -> pd.DataFrame:
    """Refusal rates of the reference models on ``test``, unmitigated, with 95 % intervals.

    Rows are those of :func:`aor_lib.analysis.stats.intervals.rates`, by ``model``, ``intent``,
    ``factor`` and ``level``. The factor is ``condition`` in the core design (``unseen_scene`` if
    the study has only unseen scenes), and ``emotion`` in trials that vary the emotion.
    """
    trials = unmitigated(of_split(results, "test"))
    trials = trials[trials["model"].isin(REFERENCE_MODELS)]
    in_scenes = trials[trials["condition"] == Condition.BENIGN_SCENE]
    of_unseen = set(in_scenes["unseen_scene"]) == {True}
    varied = trials[trials["block"] == "paralinguistics"]
    tables = [
        intervals.rates(rows, ["model", "intent", factor]).rename(columns={factor: "level"})
        for factor, rows in (("condition", core(trials)), ("emotion", varied))
    ]
    factors = ["unseen_scene" if of_unseen else "condition", "emotion"]
    by_factor = pd.concat(tables, keys=factors, names=["factor", None])
    return by_factor.reset_index("factor").reset_index(drop=True)[_RATES]


def main(params: Annotated[list[Path], typer.Argument(help="Profiles of judged studies.")]) -> None:
    """Write the reference models' refusal rates on the test splits of judged studies."""
    profiles = [load_study(path).profile for path in params]
    builds = [Path("build") / profile.name for profile in profiles]
    typer.echo(measure(builds, profiles[0].judge).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
