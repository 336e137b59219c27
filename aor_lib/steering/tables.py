"""Tables that ``aor steer`` leaves in a study's folder, for charts and reports; needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from aor_lib.analysis.selections import unmitigated
from aor_lib.config.records import Condition
from aor_lib.storage.atomic_write import atomic_write

FOLDER = "steering"
LAYER_SWEEP, COMPARED, POINTS, PROJECTIONS = "layer_sweep", "compared", "points", "projections"
FITTED, LEFT_OUT = "fitted", "left_out"
"""Tables: estimates on ``dev`` of every layer and coefficient that was looked at; the best of them
of each method and source; what was tried in full on ``dev``, and which of it was chosen for
``test``; where the requests of ``dev`` lie along the refusal direction and for the gate; the
utterances that a model's vectors were fitted on, as a JSON list; models that cannot be steered, and
why."""

METHODS = {
    "none": "No steering",
    "difference_in_means": "Difference in means",
    "probe": "Probe",
    "false_refusal": "False refusal, orthogonal",
    "false_refusal_ablation": "False refusal, ablated",
    "sarsteer": "SARSteer",
    "conditional": "Conditional",
    "random": "Random direction",
    "random_gate": "Random gate",
}
"""Titles of the methods, in the order to show."""

SOURCES = {
    "audio": "Clip, last token",
    "audio_tokens": "Clip, audio tokens",
    "text": "Text, last token",
}
"""Titles of what was looked at to find a direction (:mod:`aor_lib.steering.sources`)."""
COMPONENTS = (1, 5, 10)
"""Numbers of components that SARSteer is tried with; its makers take the last one."""
HEARING = "steering_hearing"
"""Mitigation of the chosen steering over threatening scenes, which d' of hearing needs."""
STRENGTHS = {"steering_at_half": 0.5, "steering_at_one_and_a_half": 1.5}
"""Mitigations of the chosen addition at other strengths, as shares of the chosen one."""

_COLUMNS = {
    LAYER_SWEEP: "model method source layer coefficient lam components orr hrr",
    COMPARED: "model method source goal layer coefficient components cosine orr hrr within",
    POINTS: "model method direction source layer coefficient lam components gate_layer threshold "
    "orr hrr plain degenerate within tried_as chosen",
    PROJECTIONS: "model along layer intent refused projection",
    FITTED: "model fitted_on",
    LEFT_OUT: "model reason",
}
COLUMNS = {table: tuple(names.split()) for table, names in _COLUMNS.items()}


def write(build: Path, name: str, parts: Sequence[pd.DataFrame]) -> None:
    """Keep a table of steering, one part per model, in a study's folder."""
    folder = build / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    rows = pd.concat(parts, ignore_index=True) if parts else _empty(name)
    with atomic_write(folder / f"{name}.parquet") as stream:
        rows.reindex(columns=[*COLUMNS[name]]).to_parquet(stream, index=False)


def load(build: Path | str, name: str) -> pd.DataFrame:
    """A table of steering; empty where ``aor steer`` has not been run."""
    path = Path(build) / FOLDER / f"{name}.parquet"
    return pd.read_parquet(path) if path.is_file() else _empty(name)


def steered_trials(results: pd.DataFrame) -> pd.DataFrame:
    """Trials of ``test`` under steering: those whose mitigation is one of ``aor steer``."""
    return results[results["mitigation"].str.startswith("steering_")]


def on_test(build: Path | str, results: pd.DataFrame) -> pd.DataFrame:
    """The :func:`steered_trials`, and unmitigated ones of the same models on the same stimuli.

    ``results`` are those of :func:`aor_lib.analysis.results.load_results`. The rows get the columns
    ``method``, a key of :data:`METHODS`, and ``fitted_on``, which keeps
    :mod:`aor_lib.analysis.stats` from reporting what was fitted on.
    """
    steered = steered_trials(results)
    steered = steered[~steered["mitigation"].isin([HEARING, *STRENGTHS])]
    return _beside_none(build, results, steered.assign(method=method_of(steered["mitigation"])))


def over_scenes_on_test(build: Path | str, results: pd.DataFrame) -> pd.DataFrame:
    """Trials over the benign and the threatening scene under each model's chosen steering.

    Parameters, columns and the unmitigated trials beside them are those of :func:`on_test`.
    """
    steered = _of_chosen(build, results, HEARING)
    scenes = steered["condition"].isin([Condition.BENIGN_SCENE, Condition.THREATENING_SCENE])
    return _beside_none(build, results, steered[scenes])


def at_strengths_on_test(build: Path | str, results: pd.DataFrame) -> pd.DataFrame:
    """Trials under each model's chosen steering, at the chosen strength and at others.

    A column ``strength`` has the share of the chosen strength: 0 without steering. Models whose
    chosen steering has no strength, an ablation, have no rows. Parameters and other columns are
    those of :func:`on_test`.
    """
    steered = _of_chosen(build, results, *STRENGTHS)
    other = steered["mitigation"].isin(STRENGTHS)
    has_strength = steered["model"].isin(steered.loc[other, "model"])
    trials = _beside_none(build, results, steered[has_strength])
    strengths = trials["mitigation"].map(STRENGTHS).fillna(1.0)
    return trials.assign(strength=strengths.mask(trials["method"].eq("none"), 0.0))


def _of_chosen(build: Path | str, results: pd.DataFrame, *further: str) -> pd.DataFrame:
    """Trials under each model's chosen steering, and those of further mitigations of it."""
    steered = steered_trials(results)
    methods = steered["model"].map(chosen_methods(load(build, POINTS)))
    its = method_of(steered["mitigation"]).eq(methods) | steered["mitigation"].isin(further)
    return steered.assign(method=methods)[its]


def chosen_methods(points: pd.DataFrame) -> pd.Series[str]:
    """The chosen method of each model, by its id; ``points`` are :data:`POINTS`."""
    return points[points["chosen"].eq(True)].set_index("model")["method"]


def method_of(mitigations: pd.Series[str]) -> pd.Series[str]:
    """The method of each mitigation: a key of :data:`METHODS`. Controls come in numbered parts."""
    return mitigations.str.removeprefix("steering_").str.replace(r"_\d+$", "", regex=True)


def _beside_none(build: Path | str, results: pd.DataFrame, steered: pd.DataFrame) -> pd.DataFrame:
    """Steered trials after unmitigated ones of the same models on the same stimuli."""
    same = ["model", "revision", "stimulus_id"]
    none = unmitigated(results).merge(steered[same].drop_duplicates(), on=same)
    steered = steered.merge(load(build, FITTED), on="model", how="left")
    return pd.concat([none.assign(method="none", fitted_on=None), steered], ignore_index=True)


def _empty(name: str) -> pd.DataFrame:
    # Of objects: numbers, the default, cannot be compared with the ids of models.
    return pd.DataFrame(columns=[*COLUMNS[name]], dtype=object)
