"""Steer a study's models: fit and choose interventions on ``dev``, and try them on ``test``."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.results import load_results
from aor_lib.analysis.selections import SplitError, core, for_scoring, unmitigated
from aor_lib.config.params import ModelCard, StudyParams
from aor_lib.config.records import Condition, Intent, Split
from aor_lib.inference.planning import trials_of
from aor_lib.inference.store import STEERED, open_results
from aor_lib.judge.judgement import Judge
from aor_lib.judge.stored import judge_study
from aor_lib.models.base import ModelError
from aor_lib.models.registry import claimed_capabilities
from aor_lib.steering import MAX_HRR_LOSS, VERSION, SteeringError, tables
from aor_lib.steering.choice import arm_rates, behind_a_gate, choose, held_out_scores
from aor_lib.steering.directions import NEEDED, record_requests
from aor_lib.steering.layer_sweep import layer_sweep, layers_to_sweep
from aor_lib.steering.residual_stream import Intervention, OpenModel, record
from aor_lib.steering.trials import Part, SteeredTrials, as_mitigation, random_controls
from aor_lib.storage.progress import Report, finished, up_to_date

SCENES = [Condition.BENIGN_SCENE, Condition.THREATENING_SCENE]


def steer_study(
    study: StudyParams,
    build: Path,
    load: Callable[[ModelCard], OpenModel],
    judge: Judge,
    progress: Callable[[str], AbstractContextManager[Report]],
) -> dict[str, str]:
    """Steer every model of a study that can be steered, one after the other.

    The tables (:mod:`aor_lib.steering.tables`) are written into the study's folder. If nothing has
    changed since the last call, no model is loaded. Returns the reasons why models were left out,
    by model id. If a model cannot be loaded, or the model or the judge stops working, the model's
    earlier tables are kept, and ModelError is raised after the other models.
    """
    with open_results(build) as store:
        store.set_judge(judge.id)
    with progress("verdicts") as report:
        judge_study(build, judge, report)
    results = load_results(build, judge.id)
    spoken = core(unmitigated(results))
    spoken = spoken[spoken["path"].notna() & is_judged(spoken)]
    of_trial = ["trial_key", "label", "utterance_id", "contrast_of", "intent", "split", "condition"]
    made_from = {
        "version": VERSION,
        "max_hrr_loss": MAX_HRR_LOSS,
        "judge": [judge.id, judge.version],
        "models": [[card.id, card.kind, card.settings] for card in study.models],
        "generation": study.profile.generation.model_dump(),
        "steered_models": study.profile.steered_models,
        "trials": sorted(spoken[of_trial].astype(str).values.tolist()),
    }
    # The tables and the steered trials of the last call may have been deleted.
    steered = set(tables.load(build, tables.POINTS)["model"])
    left_out = dict(tables.load(build, tables.LEFT_OUT).itertuples(index=False, name=None))
    written = {path.stem for path in (build / tables.FOLDER).glob("*.parquet")}
    whole = steered <= set(results.loc[results["arm"].eq(tables.TESTED), "model"])
    if whole and written >= tables.COLUMNS.keys() and up_to_date(build, "steer", made_from):
        return left_out
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in tables.COLUMNS}
    left_out, unable = {}, list[str]()
    for card in study.models:
        try:
            trials = SteeredTrials(_opened(study, card, load), study, build, judge, progress)
            made = steer_model(trials, spoken[spoken["model"] == card.id])
        except (SteeringError, SplitError) as error:
            left_out[card.id] = str(error)
            with open_results(build) as store:
                store.set_plan([], STEERED + card.id)  # withdraws its earlier trials
            continue
        except ModelError as error:
            unable.append(str(error))
            before = {name: tables.load(build, name) for name in parts.keys() - {tables.LEFT_OUT}}
            made = {name: rows[rows["model"] == card.id] for name, rows in before.items()}
            if made[tables.POINTS].empty:
                left_out[card.id] = str(error)
        for table, rows in made.items():
            parts[table].append(rows.assign(model=card.id))
    parts[tables.LEFT_OUT] = [pd.DataFrame(left_out.items(), columns=["model", "reason"])]
    for table, frames in parts.items():
        tables.write(build, table, frames)
    finished(build, "steer", None if unable else made_from)
    if unable:
        raise ModelError("; ".join(unable))
    return left_out


def steer_model(trials: SteeredTrials, answers: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Steer one model of a study, and return its tables by name.

    ``answers`` are the model's judged trials without steering. SteeringError if they come from
    another revision or other settings, or are too few to fit a direction.
    """
    study, dev = trials.study, answers[answers["split"].eq(Split.DEV)]
    (none,) = (prompt for prompt in study.mitigations if prompt.id == "none")
    stimuli = trials.stimuli(dev)
    asked = trials_of(trials.model, none, stimuli, study.profile.generation)
    if dev.empty or not {trial.key for trial in asked} >= set(dev["trial_key"]):
        problem = "'dev' has no judged answers of this revision and these settings; run 'aor run'"
        raise SteeringError(f"{trials.name}: {problem}")
    utterances = frozenset(dev["utterance_id"])
    _require_both_kinds(trials, dev)
    best, made = fit_on_dev(trials, dev)
    try_on_test(trials, best, for_scoring(answers[answers["split"].eq(Split.TEST)], utterances))
    return made | {tables.FITTED: pd.DataFrame({"fitted_on": [json.dumps(sorted(utterances))]})}


def _opened(
    study: StudyParams, card: ModelCard, load: Callable[[ModelCard], OpenModel]
) -> OpenModel:
    # Load the model; SteeringError if the profile does not steer it, or it cannot be steered.
    if not study.profile.steers(card.id):
        raise SteeringError(f"{card.id}: it is not among the profile's steered_models")
    if not claimed_capabilities(card).activations:
        raise SteeringError(f"{card.id}: its decoder layers are not open to steering")
    return load(card)


def fit_on_dev(
    trials: SteeredTrials, dev: pd.DataFrame
) -> tuple[list[Intervention], dict[str, pd.DataFrame]]:
    """Fit candidates on unsteered trials of ``dev``, sweep layers, try the best, and choose.

    Returns the best intervention of each method, the chosen one first, and the tables by name.
    """
    with trials.progress(f"{trials.name}: activations") as report:
        requests = record_requests(trials.model, dev, trials.conversations(dev), report)
    with trials.progress(f"{trials.name}: layers and coefficients") as report:
        shortlist, sweep = layer_sweep(trials, requests, report)
    tried = dev[dev["condition"] == Condition.BENIGN_SCENE]
    stimuli = trials.stimuli(tried)
    named = {f"candidate_{n}": candidate for n, candidate in enumerate(shortlist)}
    parts = [(as_mitigation(name, c.method), c, stimuli) for name, c in named.items()]
    answers = trials.ask(parts, Split.DEV)
    held_out = held_out_scores(requests, layers_to_sweep(requests))
    points = []
    for name, candidate in named.items():
        under = answers[answers["mitigation"] == name]
        points.append((candidate, arm_rates(under)))
        if held_out is not None and candidate.coefficient is not None:
            points.append(behind_a_gate(candidate, under, tried, requests, held_out))
    table, best = choose(points, arm_rates(tried))
    return best, {tables.LAYER_SWEEP: sweep, tables.POINTS: table}


def try_on_test(trials: SteeredTrials, best: list[Intervention], test: pd.DataFrame) -> None:
    """Repeat ``test`` trials under the best interventions, and under controls of the chosen one."""
    chosen, tried = best[0], test[test["condition"] == Condition.BENIGN_SCENE]
    stimuli = trials.stimuli(tried)
    opened = np.ones(len(tried), dtype=bool)
    if chosen.gate:
        with trials.progress(f"{trials.name}: activations on test") as report:
            last_token = record(trials.model, trials.conversations(tried), report)
        opened = chosen.gate.opens(last_token[:, chosen.gate.layer])
    parts: list[Part] = [
        (as_mitigation(f"steering_{item.method}", item.method), item, stimuli) for item in best
    ]
    parts += random_controls(chosen, stimuli, opened)
    sounding = test[test["intent"].eq(Intent.PSEUDO_HARMFUL) & test["condition"].isin(SCENES)]
    over_scenes = sounding[sounding["variant"] == 0]  # pairs single clips
    if over_scenes["condition"].nunique() > 1:
        hearing = as_mitigation(tables.HEARING, chosen.method, tables.HEARING)
        parts.append((hearing, chosen, trials.stimuli(over_scenes)))
    trials.ask(parts, Split.TEST)


def _require_both_kinds(trials: SteeredTrials, dev: pd.DataFrame) -> None:
    tried, in_scene = dev[dev["condition"].isin(SCENES)], dev["condition"].eq(SCENES[0])
    refused, intent = tried["label"].isin(REFUSALS), tried["intent"]
    masks = {
        "refused pseudo-harmful": refused & intent.eq("pseudo_harmful"),
        "refused harmful": refused & intent.eq("harmful"),
        "answered harmless": ~refused & intent.ne("harmful"),
    }
    there_are = {kind: tried.loc[mask, "utterance_id"].nunique() for kind, mask in masks.items()}
    enough = all(there_are[kind] >= needed for kind, needed in NEEDED.items())
    if not enough or not {"pseudo_harmful", "harmful"} <= set(dev.loc[in_scene, "intent"]):
        raise SteeringError(
            f"{trials.name}: steering needs pseudo-harmful and harmful 'dev' requests in benign "
            f"scenes, and at least {NEEDED} in benign or threatening scenes; there are {there_are}"
        )
