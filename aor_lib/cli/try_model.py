"""A further model on a few stimuli of a finished study, beside the models of the study.

The study's own results are read and never written: what the model says is kept elsewhere.
"""

import shutil
from pathlib import Path

import pandas as pd

from aor_lib.analysis import selections
from aor_lib.analysis.results import load_results
from aor_lib.config.params import StudyParams
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.inference.engine import Run
from aor_lib.inference.planning import trials_of
from aor_lib.inference.store import STORE, Store
from aor_lib.judge.registry import load_judge
from aor_lib.judge.study import judge_study
from aor_lib.models.base import AudioModel, ModelError
from aor_lib.stimuli.manifest import MANIFEST, load_manifest, load_stimuli

_KIND = ["scenario", "intent"]


def try_model(
    model: AudioModel,
    study: StudyParams,
    build: Path,
    into: Path,
    stimuli_per_intent: int = 2,
) -> pd.DataFrame:
    """Give a model some of a study's `benign_scene` stimuli, and judge what it answers.

    Parameters
    ----------
    build
        The study's folder, with its stimuli and results.
    into
        Where the model gets a folder for its results; what it answered earlier is not asked again.
    stimuli_per_intent
        How many stimuli of each scenario and intent (the first ones of the ``test`` split).

    Returns
    -------
    Rows of :func:`aor_lib.analysis.results.load_results`: the model's, and those of the study's
    models on the same stimuli, all without mitigation.

    Raises
    ------
    ParamsError
        If the study has a model of this id already.
    ModelError
        If the model cannot run here, or fails too often.
    StoreError
        If a result cannot be kept.
    FileNotFoundError
        If the study has no stimuli.
    """
    judge = study.profile.judge
    others = load_results(build, judge)
    if model.card.id in set(others["model"]):
        raise ParamsError(f"model {model.card.id}: id: the study has it already; choose another")
    in_scene = selections.headline_condition(selections.report_split(load_manifest(build)))
    by_kind = selections.core(in_scene).drop_duplicates("utterance_id").groupby(_KIND)
    chosen = set(by_kind.head(stimuli_per_intent)["stimulus_id"])
    stimuli = [stimulus for stimulus in load_stimuli(build) if stimulus.stimulus_id in chosen]
    (none,) = (m for m in study.mitigations if m.is_none)
    trials = trials_of(model, none, stimuli, study.profile.generation)
    folder = into / model.card.id
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(build / MANIFEST, folder / MANIFEST)
    with Store(folder / STORE) as store:
        store.set_plan(trials)
        store.record_cards([model.card])
        run = Run(trials, [model], stimuli, build, store).answer(lambda progress: None)
    if run.stopped:
        raise ModelError(f"{model.card.id} was stopped: {'; '.join(run.stopped.values())}")
    judge_study(folder, load_judge(judge), lambda done, of: None)
    same = others["stimulus_id"].isin(chosen)
    alike = others[same & (others["mitigation"] == none.id)]
    return pd.concat([alike, load_results(folder, judge)], ignore_index=True)
