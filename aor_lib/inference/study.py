"""A study's run: its models are loaded, its trials planned, and those without an answer asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from aor_lib.config.params import ModelCard, StudyParams
from aor_lib.inference.engine import MAX_FAILURES, Progress, Run
from aor_lib.inference.planning import absent, left_out, plan_trials
from aor_lib.inference.store import IMPORTED, STORE, STUDY, Store
from aor_lib.models.base import AudioModel, ModelError
from aor_lib.models.registry import load_model
from aor_lib.stimuli.manifest import load_stimuli, verify_dataset

_ERRORS_SHOWN = 20


def run_study(
    study: StudyParams,
    build: Path,
    report: Callable[[Progress], None],
    say: Callable[[str], None],
    models: Collection[str] = (),
    max_failures: float = MAX_FAILURES,
) -> bool:
    """Ask every model what the study plans for it; finished trials are skipped.

    Parameters
    ----------
    build
        Folder of the study, with its stimuli.
    report
        Called with the run's progress when results came.
    say
        Called with a line about each model, trial and answer that is missing, and why.
    models
        Ids of the models that are asked; none means all of the profile.
    max_failures
        See :class:`aor_lib.inference.engine.Run`.

    Returns
    -------
    True if every model was asked and no trial is left without an answer.
    """
    stimuli = load_stimuli(build)
    verify_dataset(stimuli, build)
    loaded, unable = load_models([c for c in study.models if not models or c.id in models])
    for reason in unable:
        say(f"not asked: {reason}")
    for (name, lacking), count in left_out(study, stimuli, loaded).items():
        say(f"{name}: {count} trials are left out: it takes no {lacking}")
    here = {model.card.id: model for model in loaded}
    with Store(build / STORE) as store:
        # What others answered before, or are asked by another run, stays in the plan.
        planned = {trial.arm.model: trial.arm.revision for trial in store.planned(STUDY)}
        cards = [card for card in study.models if card.id in here or card.id in planned]
        all_models = [here.get(card.id) or absent(card, planned) for card in cards]
        trials = plan_trials(study, stimuli, all_models)
        store.set_plan(trials)
        store.record_cards([model.card for model in loaded])
        asked = [trial for trial in trials if trial.arm.model in here]
        done = Run(asked, loaded, stimuli, build, store, max_failures).answer(report)
        for name, reason in done.stopped.items():
            say(f"{name} was stopped: {reason}")
        for line in _errors(store):
            say(line)
    left = done.planned - done.done - done.failed
    say(f"{done.done} of {done.planned} trials done, {done.failed} failed, {left} left")
    return done.done == done.planned and not unable


def load_models(cards: Sequence[ModelCard]) -> tuple[list[AudioModel], list[str]]:
    """Load the models of cards: those that can run here, and why the others cannot."""
    loaded, unable = [], []
    for card in cards:
        try:
            loaded.append(load_model(card))
        except ModelError as error:
            unable.append(str(error))
    return loaded, unable


def _errors(store: Store) -> list[str]:
    trials = store.frame("")
    failed = trials[(trials["part"] != IMPORTED) & trials["error"].notna()]
    counts = failed.groupby(["model", "status", "error"]).size().reset_index(name="times")
    counts = counts.sort_values("times", ascending=False, kind="stable").head(_ERRORS_SHOWN)
    return [f"{row.times} x {row.model} {row.status}: {row.error}" for row in counts.itertuples()]
