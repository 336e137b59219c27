"""Steering of a study's models, where anything that it is made from has changed.

Each intervention that is tried on ``test`` is a mitigation of its own in the study's results:
``steering_METHOD`` for the best of each method, and of the chosen one ``steering_random_N`` and
``steering_random_gate_N`` for the parts of its controls (:mod:`aor_lib.steering.controls`) and
``steering_hearing`` for what it is asked over threatening scenes; where it is an addition, also
``steering_at_half`` and ``steering_at_one_and_a_half`` for other strengths of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from aor_lib.analysis.results import load_results
from aor_lib.analysis.splits import SplitError
from aor_lib.config.params import StudyParams
from aor_lib.judge import Judge
from aor_lib.steering import MAX_HRR_LOSS, VERSION, SteeringError, tables
from aor_lib.steering.trials import Progress, SteeredTrials, families, spoken_trials
from aor_lib.storage.progress import finished, up_to_date

if TYPE_CHECKING:
    from aor_lib.steering.activations import OpenModel

STAGE = "steer"


def steer_study(
    study: StudyParams,
    build: Path,
    models: Iterable[OpenModel],
    judge: Judge,
    progress: Progress,
    max_hrr_loss: float = MAX_HRR_LOSS,
) -> dict[str, str]:
    """Steer every model of a study that can be steered; all trials must be answered and judged.

    Vectors and tables (:mod:`aor_lib.steering.tables`) are kept in the study's folder. Nothing is
    done, and no model is loaded, where the trials, their labels, the options and :data:`VERSION`
    are those of the last call; a trial that was answered in an earlier call is not asked again.

    Parameters
    ----------
    models
        The study's models; an iterator that loads one at a time keeps memory low.
    max_hrr_loss
        How much of the harmful-refusal rate on ``dev`` may be lost for less over-refusal.

    Returns
    -------
    Why models were left out, by their ids.

    Raises
    ------
    ModelError
        If a model or the judge can be asked no more.
    StoreError
        If a result cannot be kept.
    FileNotFoundError
        If the study has not been run.
    """
    results = load_results(build, judge.id)
    made_from = _made_from(study, results, judge, max_hrr_loss)
    if up_to_date(build, STAGE, made_from) and _is_whole(build, results):
        return dict(tables.load(build, tables.LEFT_OUT).itertuples(index=False, name=None))

    from aor_lib.steering.fitting import steer_model  # imports torch

    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in tables.COLUMNS}
    left_out: dict[str, str] = {}
    for model in models:
        name = model.card.id
        trials = SteeredTrials(name, study, build, judge, progress)
        try:
            made = steer_model(model, trials, max_hrr_loss)
        except (SteeringError, SplitError) as error:
            left_out[name] = str(error)
            trials.withdraw()
            continue
        for table, rows in made.items():
            parts[table].append(rows.assign(model=name))
    parts[tables.LEFT_OUT] = [pd.DataFrame(left_out.items(), columns=["model", "reason"])]
    for table, frames in parts.items():
        tables.write(build, table, frames)
    finished(build, STAGE, made_from)
    return left_out


def _made_from(
    study: StudyParams, results: pd.DataFrame, judge: Judge, max_hrr_loss: float
) -> dict[str, object]:
    """All that vectors, choices and tables follow from."""
    trials = spoken_trials(results)
    columns = trials[["model", "revision", "trial_key", "label"]]
    return {
        "version": VERSION,
        "max_hrr_loss": max_hrr_loss,
        "judge": [judge.id, judge.version],
        "models": [card.id for card in study.models],
        "conditions": [str(condition) for condition in study.profile.mitigated_conditions],
        "steered_models": study.profile.steered_models,
        "families": sorted(families(study).items()),
        "trials": sorted(columns.itertuples(index=False, name=None)),
    }


def _is_whole(build: Path, results: pd.DataFrame) -> bool:
    """Tell if the tables and the steered trials of the last call are still there."""
    if not (build / tables.FOLDER / f"{tables.LEFT_OUT}.parquet").is_file():
        return False
    fitted = set(tables.load(build, tables.FITTED)["model"])
    return fitted <= set(tables.steered_trials(results)["model"])
