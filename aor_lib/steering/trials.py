"""Steered trials: asked by the study's engine, judged by its judge, kept in its store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pandas as pd

from aor_lib.inference import answer_trials, plan_trials
from aor_lib.judge import Judge
from aor_lib.judge.study import judge_study
from aor_lib.models.base import ModelError
from aor_lib.params import Mitigation, Study
from aor_lib.records import Stimulus, Trial
from aor_lib.results import STORE, load_results
from aor_lib.steering.interventions import SteeredModel
from aor_lib.steering.residual import OpenModel
from aor_lib.steering.vectors import SteeringVector
from aor_lib.store import Store

Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Such as :func:`aor_lib.progress.progress`."""


class SteeredTrials:
    """The steered trials of one model: a part of the study's plan, empty at first."""

    def __init__(
        self, model: OpenModel, study: Study, build: Path, judge: Judge, progress: Progress
    ) -> None:
        self._model, self._study, self._build = model, study, build
        self._judge, self._progress = judge, progress
        self._planned: list[Trial] = []
        self._plan([])

    def results(self) -> pd.DataFrame:
        """Rows of :func:`aor_lib.results.load_results` that are of this model."""
        results = load_results(self._build, self._judge.id)
        return results[results["model"] == self._model.card.id]

    def ask(
        self, vectors: Mapping[str, SteeringVector], stimuli: Sequence[Stimulus]
    ) -> pd.DataFrame:
        """Have the stimuli answered under each vector, a mitigation by its id, and judged.

        What was answered in an earlier call, of this process or another, is not asked again.

        Returns
        -------
        Rows of :func:`aor_lib.results.load_results`, of these mitigations.

        Raises
        ------
        ModelError
            The model or the judge can be asked no more.
        StoreError
            A result cannot be kept.
        """
        models = {
            mitigation: SteeredModel(self._model, vector.intervention, vector.name)
            for mitigation, vector in vectors.items()
        }
        trials = {name: self._trials(name, model, stimuli) for name, model in models.items()}
        self._plan([trial for of_one in trials.values() for trial in of_one])
        with self._progress(f"{self._model.card.id}: interventions") as report:
            for number, (name, model) in enumerate(models.items(), 1):
                self._answer(trials[name], model, stimuli)
                report(number, len(models))
        with self._progress("verdicts") as report:
            judge_study(self._build, self._judge, report)
        results = self.results()
        return results[results["mitigation"].isin(vectors)]

    def _trials(
        self, mitigation: str, model: SteeredModel, stimuli: Sequence[Stimulus]
    ) -> list[Trial]:
        # The mitigation changes the model, not what it is told.
        only = Mitigation(id=mitigation, title=mitigation)
        study = self._study.model_copy(update={"mitigations": (only,)})
        return plan_trials(study, stimuli, [model])

    def _plan(self, more: list[Trial]) -> None:
        self._planned += more
        with Store(self._build / STORE) as store:
            store.set_plan(self._planned, part=f"steering of {self._model.card.id}")

    def _answer(
        self, trials: Sequence[Trial], model: SteeredModel, stimuli: Sequence[Stimulus]
    ) -> None:
        with Store(self._build / STORE) as store:
            run = answer_trials(trials, [model], stimuli, self._build, store, lambda progress: None)
        if run.stopped:
            reasons = "; ".join(run.stopped.values())
            raise ModelError(f"{model.card.id} was stopped while it was steered: {reasons}")
