"""Steering of a study's models: fitted and chosen on ``dev``, tried on ``test``.

Each intervention that is tried on ``test`` is a mitigation of its own in the study's results:
``steering_METHOD`` for the best of each method, and ``steering_random_N`` for random directions in
the place of the one that was chosen.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from aor_lib.analysis.splits import SplitError, for_fitting, for_scoring
from aor_lib.config.params import Study
from aor_lib.config.records import Split, Stimulus, content_hash
from aor_lib.inference.planning import conversation
from aor_lib.judge import Judge
from aor_lib.steering import MAX_HRR_LOSS, SteeringError, tables
from aor_lib.steering.activations import OpenModel, record
from aor_lib.steering.candidates import Candidate, Requests
from aor_lib.steering.choice import Point, Rates, behind_a_gate, choose, randomised
from aor_lib.steering.fluency import fluency
from aor_lib.steering.gates import HeldOut, hold_out
from aor_lib.steering.interventions import Intervention
from aor_lib.steering.refusal_odds import learn_refusal_odds
from aor_lib.steering.scan import layers_to_scan, scan, some_of_each_kind
from aor_lib.steering.trials import Asked, Progress, Trials, require_both_kinds
from aor_lib.steering.vectors import SteeringVector, save_vector
from aor_lib.stimuli.manifest import load_stimuli

RANDOM = 9
"""Random directions; each is tried on as large a part of the stimuli. They differ more in what they
do than requests do in what becomes of them: many on few requests say more than few on many."""


def steer_study(
    study: Study,
    build: Path,
    models: Iterable[OpenModel],
    judge: Judge,
    progress: Progress,
    max_hrr_loss: float = MAX_HRR_LOSS,
) -> dict[str, str]:
    """Steer every model of a study that can be steered; all trials must be answered and judged.

    Vectors and tables (:mod:`aor_lib.steering.tables`) are kept in the study's folder. What was
    answered in an earlier call is not asked again.

    Parameters
    ----------
    max_hrr_loss
        How much of the harmful-refusal rate on ``dev`` may be lost for less over-refusal.

    Returns
    -------
    Why models were left out, by their ids.

    Raises
    ------
    ModelError
        A model or the judge can be asked no more.
    StoreError, FileNotFoundError
        As said by their messages.
    """
    found: dict[str, list[pd.DataFrame]] = {name: [] for name in tables.COLUMNS}
    left_out: dict[str, str] = {}
    for model in models:
        if not model.capabilities.activations:
            left_out[model.card.id] = f"{model.card.id}: its layers are not open to steering"
            continue
        trials = Trials(model, study, build, judge, progress)
        try:
            made = _steer(model, study, build, trials, progress, max_hrr_loss)
        except (SteeringError, SplitError) as error:
            left_out[model.card.id] = str(error)
            trials.withdraw()
            continue
        for table, rows in made.items():
            found[table].append(rows.assign(model=model.card.id))
    found[tables.LEFT_OUT] = [pd.DataFrame(left_out.items(), columns=["model", "reason"])]
    for table, frames in found.items():
        tables.write(build, table, frames)
    return left_out


def _steer(
    model: OpenModel,
    study: Study,
    build: Path,
    trials: Trials,
    progress: Progress,
    max_hrr_loss: float,
) -> dict[str, pd.DataFrame]:
    """Tables of :mod:`aor_lib.steering.tables` of one model."""
    conditions = [str(condition) for condition in study.profile.mitigated_conditions]
    stimuli = {stimulus.stimulus_id: stimulus for stimulus in load_stimuli(build)}
    answers = trials.unsteered()
    dev, utterances = for_fitting(answers)
    tried = dev[dev["condition"].isin(conditions)]
    require_both_kinds(tried, model.card.id)
    vector = functools.partial(_vector, model, dev, utterances)
    with TemporaryDirectory() as folder:
        with progress(f"{model.card.id}: activations") as report:
            asked = [conversation(stimuli[stimulus], build) for stimulus in dev["stimulus_id"]]
            requests = Requests.of(dev, asked, record(model, asked, Path(folder), report))
        odds = learn_refusal_odds(requests.recorded.logits, requests.refused)
        with progress(f"{model.card.id}: layers and coefficients") as report:
            scanned = scan(model, requests, some_of_each_kind(dev, conditions), odds, report)
        shortlist = {one.name: one for one in scanned.shortlist(max_hrr_loss)}
        asked_on_dev = [stimuli[stimulus] for stimulus in tried["stimulus_id"]]
        steered = trials.on_dev(
            {name: (vector(one, one.intervention), asked_on_dev) for name, one in shortlist.items()}
        )
        held_out = hold_out(requests, _families(study, dev), layers_to_scan(requests.layers))
        points = []
        for name, one in shortlist.items():
            under = steered[steered["mitigation"] == name]
            points.append(Point(one.method, one, one.intervention, Rates.of(under)))
            if held_out is not None and one.coefficient is not None:
                points.append(behind_a_gate(one, under, tried, requests, held_out, max_hrr_loss))
        projections = _projections(requests, points, held_out)
    unsteered = Rates.of(tried)
    table, chosen = choose(points, unsteered, max_hrr_loss)
    best = [points[place] for place in chosen]
    test = answers[answers["condition"].isin(conditions) & (answers["split"] == Split.TEST)]
    reported = for_scoring(test, utterances)
    asked_on_test = _asked_on_test(
        best, vector, [stimuli[name] for name in reported["stimulus_id"]]
    )
    under = trials.on_test(asked_on_test)
    for mitigation in (f"steering_{one.method}" for one in best):
        saved = build / tables.FOLDER / model.card.id / f"{mitigation}.safetensors"
        save_vector(asked_on_test[mitigation][0], saved)
    with progress(f"{model.card.id}: perplexity") as report:
        read = fluency(pd.concat([reported, under]), report)
    return {
        tables.SCAN: scanned.table(),
        tables.POINTS: _points(table, chosen, unsteered),
        tables.PROJECTIONS: projections,
        tables.FLUENCY: read,
        tables.FITTED: pd.DataFrame({"fitted_on": [json.dumps(sorted(utterances))]}),
    }


def _asked_on_test(
    best: Sequence[Point],
    vector: Callable[[Candidate, Intervention], SteeringVector],
    stimuli: Sequence[Stimulus],
) -> Asked:
    """The best points, each on all stimuli, and random directions in the place of the first."""
    asked: dict[str, tuple[SteeringVector, Sequence[Stimulus]]] = {
        f"steering_{one.method}": (vector(one.candidate, one.intervention), stimuli) for one in best
    }
    for place in range(RANDOM):
        control = randomised(best[0].intervention, seed=place + 1)
        some = stimuli[place::RANDOM]
        asked[f"steering_random_{place + 1}"] = vector(best[0].candidate, control), some
    return asked


def _vector(
    model: OpenModel,
    dev: pd.DataFrame,
    utterances: frozenset[str],
    candidate: Candidate,
    intervention: Intervention,
) -> SteeringVector:
    return SteeringVector(
        intervention,
        model=model.card.id,
        revision=model.revision,
        method=candidate.method,
        layer=candidate.layer,
        position="last",
        lam=candidate.lam,
        data_sha256=content_hash(sorted(zip(dev["trial_key"], dev["label"], strict=True))),
        utterances=utterances,
    )


def _families(study: Study, dev: pd.DataFrame) -> list[str]:
    """Of each row, the utterance that its own minimally changes, or else its own."""
    changed = {
        utterance.id: utterance.contrast_of
        for scenario in study.scenarios
        for utterance in scenario.utterances
    }
    return [changed.get(name) or name for name in dev["utterance_id"]]


def _projections(
    requests: Requests, points: Sequence[Point], held_out: HeldOut | None
) -> pd.DataFrame:
    """Where requests lie along the chosen difference in means, and what gates say of them."""
    kinds = np.select(
        [requests.pseudo_harmful, requests.harmful], ["pseudo_harmful", "harmful"], "benign"
    )
    frame = pd.DataFrame({"intent": kinds, "refused": requests.refused})
    (one, *_) = [p.candidate for p in points if p.candidate.method == "difference_in_means"]
    direction = one.intervention.direction
    along = requests.at(one.layer) @ (direction / np.linalg.norm(direction))
    found = [frame.assign(along="refusal", layer=one.layer, projection=along)]
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
    return pd.concat([pd.DataFrame([none | asdict(unsteered)]), table], ignore_index=True)
