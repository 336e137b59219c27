"""Steering of one model: fitted and chosen on ``dev``, tried on ``test``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from aor_lib.analysis.splits import for_fitting, for_scoring
from aor_lib.config.records import Condition, Intent, Split, content_hash
from aor_lib.steering import SteeringError, tables
from aor_lib.steering.activations import OpenModel, record
from aor_lib.steering.candidates import Candidate, Requests
from aor_lib.steering.choice import Rates, arm_rates, behind_a_gate, choose
from aor_lib.steering.controls import Parts, random_controls
from aor_lib.steering.estimates import by_beginning, by_first_token, learn_refusal_odds
from aor_lib.steering.gates import HeldOut, hold_out, opens
from aor_lib.steering.interventions import Addition, Gated, SteeredModel
from aor_lib.steering.layer_sweep import layer_sweep, layers_to_sweep, some_of_each_kind
from aor_lib.steering.sources import record_sources
from aor_lib.steering.trials import (
    SteeredTrials,
    conversations,
    families,
    require_both_kinds,
    unsteered_trials,
)
from aor_lib.steering.vectors import SteeringVector, save_vector
from aor_lib.stimuli.manifest import load_stimuli


def steer_model(
    model: OpenModel, trials: SteeredTrials, max_hrr_loss: float
) -> dict[str, pd.DataFrame]:
    """Steer one model of a study, save its vectors, and return its tables.

    Returns
    -------
    Tables of :mod:`aor_lib.steering.tables`, by their names.

    Raises
    ------
    SteeringError
        If the model's layers are not open to steering, the profile does not name it, or its answers
        leave nothing to find a direction in.
    """
    build, progress, name = trials.build, trials.progress, model.card.id
    if not model.capabilities.activations:
        raise SteeringError(f"{name}: its layers are not open to steering")
    if not trials.study.profile.steers(name):
        raise SteeringError(f"{name}: it is not among the profile's steered_models")
    conditions = [str(condition) for condition in trials.study.profile.mitigated_conditions]
    stimuli = {stimulus.stimulus_id: stimulus for stimulus in load_stimuli(build)}
    answers = unsteered_trials(build, model, trials.judge.id)
    if not (answers["split"] == Split.DEV).any() and any(
        stimulus.split is Split.DEV for stimulus in stimuli.values()
    ):
        raise SteeringError(f"{name}: clips of 'dev' have no answers yet; run 'aor run' first")
    dev, utterances = for_fitting(answers)
    tried = dev[dev["condition"].isin(conditions)]
    require_both_kinds(dev[dev["condition"].isin([*conditions, Condition.THREATENING_SCENE])], name)
    data_sha256 = content_hash(sorted(zip(dev["trial_key"], dev["label"], strict=True)))

    def vector(candidate: Candidate) -> SteeringVector:
        return SteeringVector(
            candidate.intervention,
            model=name,
            revision=model.revision,
            method=candidate.direction,
            source=candidate.source,
            layer=candidate.layer,
            lam=candidate.lam,
            components=candidate.components,
            data_sha256=data_sha256,
            utterances=utterances,
        )

    def steered_by(candidate: Candidate) -> SteeredModel:
        return SteeredModel(model, candidate.intervention, vector(candidate).name)

    with TemporaryDirectory() as folder:
        with progress(f"{name}: activations") as report:
            asked = conversations(build, dev)
            recorded = record(model, asked, folder=Path(folder), report=report)
        with progress(f"{name}: activations of text") as report:
            elsewhere = record_sources(model, dev, asked, recorded, report)
        requests = Requests(dev, asked, recorded, elsewhere)
        odds = learn_refusal_odds(recorded.logits, requests.refused)
        if odds is not None:
            estimate = by_first_token(model, odds)
        else:
            whole = trials.study.profile.generation.max_new_tokens
            estimate = by_beginning(model, trials.judge, asked, requests.refused, whole)
        with progress(f"{name}: layers and coefficients") as report:
            among = some_of_each_kind(dev, conditions)
            sweep = layer_sweep(model, requests, among, estimate, report)
        shortlist = {candidate.name: candidate for candidate in sweep.shortlist(max_hrr_loss)}
        on_dev = [stimuli[stimulus] for stimulus in tried["stimulus_id"]]
        steered = trials.on_dev(
            {key: (steered_by(candidate), on_dev) for key, candidate in shortlist.items()}
        )
        contrasts = families(trials.study)
        of_dev = [contrasts.get(utterance, utterance) for utterance in dev["utterance_id"]]
        held_out = hold_out(requests, of_dev, layers_to_sweep(requests.layers))
        points = []
        for key, candidate in shortlist.items():
            under = steered[steered["mitigation"] == key]
            points.append((candidate, arm_rates(under)))
            addition = candidate.intervention
            if held_out is not None and isinstance(addition, Addition):
                points.append(
                    behind_a_gate(
                        candidate, addition, under, tried, requests, held_out, max_hrr_loss
                    )
                )
        (refusal, *_) = [c for c in shortlist.values() if c.method == "difference_in_means"]
        projections = _projections(requests, refusal, held_out)
    unsteered = arm_rates(tried)
    table, chosen = choose(points, unsteered, max_hrr_loss)
    best = {f"steering_{points[place][0].method}": points[place][0] for place in chosen}
    reported = for_scoring(answers[answers["split"] == Split.TEST], utterances)
    test = reported[reported["condition"].isin(conditions)]
    on_test = [stimuli[stimulus] for stimulus in test["stimulus_id"]]
    threatening = reported["condition"].eq(Condition.THREATENING_SCENE)
    threatening &= reported["intent"].eq(Intent.PSEUDO_HARMFUL) & ~reported.index.isin(test.index)
    first, *_ = best.values()
    with TemporaryDirectory() as folder, progress(f"{name}: activations on test") as report:
        read = record(model, conversations(build, test), folder=Path(folder), report=report)
        opened = np.ones(len(test), dtype=bool)
        if isinstance(first.intervention, Gated):
            opened = opens(first.intervention.gate, read.activations)
    parts: Parts = {mitigation: (candidate, on_test) for mitigation, candidate in best.items()}
    parts |= random_controls(first, on_test, opened)
    if threatening.any():
        others = [stimuli[name] for name in reported.loc[threatening, "stimulus_id"]]
        parts[tables.HEARING] = (first, others)
    if (strength := first.coefficient) is not None:
        for mitigation, share in tables.STRENGTHS.items():
            parts[mitigation] = (first.changed(coefficient=share * strength), on_test)
    trials.on_test(
        {
            mitigation: (steered_by(candidate) if candidate else model, asked_of_it)
            for mitigation, (candidate, asked_of_it) in parts.items()
        }
    )
    for mitigation, candidate in best.items():
        saved = build / tables.FOLDER / name / f"{mitigation}.safetensors"
        save_vector(vector(candidate), saved)
    return {
        tables.LAYER_SWEEP: sweep.table(),
        tables.COMPARED: sweep.compared(max_hrr_loss),
        tables.POINTS: _points(table, chosen, unsteered),
        tables.PROJECTIONS: projections,
        tables.FITTED: pd.DataFrame({"fitted_on": [json.dumps(sorted(utterances))]}),
    }


def _projections(requests: Requests, refusal: Candidate, held_out: HeldOut | None) -> pd.DataFrame:
    """Projections of requests on a refusal direction, and their log-odds by gates."""
    answers = requests.answers.reset_index(drop=True)
    frame = pd.DataFrame({"intent": answers["intent"], "refused": requests.refused})
    along = requests.at(refusal.layer) @ (refusal.vector / np.linalg.norm(refusal.vector))
    found = [frame.assign(along="refusal", layer=refusal.layer, projection=along)]
    if held_out is not None:
        layer = held_out.best_layer(max(held_out.scores))
        scores = frame.assign(along="gate", layer=layer, projection=held_out.scores[layer])
        found.append(scores[frame["intent"] != "benign"])
    return pd.concat(found, ignore_index=True)


def _points(table: pd.DataFrame, chosen: Sequence[int], unsteered: Rates) -> pd.DataFrame:
    """The table of all points, which are tried on ``test``, and the rates without steering."""
    tested = table.index.isin(list(chosen))
    table = table.assign(
        tried_as=("steering_" + table["method"]).where(tested, None),
        chosen=table.index == chosen[0],
    )
    none = {"method": "none", "within": True, "tried_as": "none", "chosen": False}
    return pd.concat([pd.DataFrame([none | unsteered]), table], ignore_index=True)
