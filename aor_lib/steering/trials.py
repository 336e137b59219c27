"""The trials of one model: those without steering, to fit on, and steered ones.

Steered trials are asked by the study's engine and judged by its judge. Those of ``test`` are kept
in the study's folder; those of ``dev`` in a folder of their own, which no page looks at.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pandas as pd

from aor_lib.analysis.results import load_results
from aor_lib.analysis.stats.trials import REFUSALS, is_judged
from aor_lib.config.params import Mitigation, Study
from aor_lib.config.records import Stimulus, Trial
from aor_lib.inference.engine import answer_trials, plan_trials
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import Judge
from aor_lib.judge.study import judge_study
from aor_lib.models.base import ModelError
from aor_lib.steering import SteeringError
from aor_lib.steering.activations import OpenModel
from aor_lib.steering.interventions import SteeredModel
from aor_lib.steering.tables import FOLDER
from aor_lib.steering.vectors import SteeringVector
from aor_lib.stimuli.manifest import MANIFEST

NEEDED = {"refused pseudo-harmful": 15, "refused harmful": 5, "answered harmless": 5}
"""Utterances of ``dev`` without which nothing is fitted. Where fewer are refused for nothing, there
is little to gain, and their mean says little."""

Asked = Mapping[str, tuple[SteeringVector, Sequence[Stimulus]]]
"""Vectors by the ids of their mitigations, each with the stimuli to be answered under it."""
Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Such as :func:`aor_lib.storage.progress.progress`."""


class Trials:
    """The trials of one model of a study."""

    def __init__(
        self, model: OpenModel, study: Study, build: Path, judge: Judge, progress: Progress
    ) -> None:
        self._model, self._study, self._build = model, study, build
        self._judge, self._progress = judge, progress

    def unsteered(self) -> pd.DataFrame:
        """What the model was asked aloud, without mitigation, and answered; each with its verdict.

        Rows of :func:`aor_lib.analysis.results.load_results`.

        Raises
        ------
        SteeringError
            There are none, or they are of another revision of the model.
        """
        results = load_results(self._build, self._judge.id)
        asked = results[
            (results["model"] == self._model.card.id)
            & (results["mitigation"] == "none")
            & (results["block"] == "core")
            & results["path"].notna()
            & results["intent"].isin(["pseudo_harmful", "harmful", "benign"])
        ]
        answered = asked[asked["status"] == "ok"]
        judged = answered[is_judged(answered)]
        others = set(answered["revision"]) - {self._model.revision}
        if answered.empty or others or judged.empty:
            lacking = "answers of this revision" if answered.empty or others else "verdicts"
            raise SteeringError(
                f"{self._model.card.id}: there are no {lacking}; run 'aor run' and 'aor judge' "
                "first"
            )
        return judged

    def on_dev(self, asked: Asked) -> pd.DataFrame:
        """Have stimuli of ``dev`` answered under vectors; see :meth:`on_test`."""
        folder = self._build / FOLDER / "dev"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._build / MANIFEST, folder / MANIFEST)
        return self._ask(asked, folder)

    def on_test(self, asked: Asked) -> pd.DataFrame:
        """Have stimuli of ``test`` answered under vectors, each a mitigation by its id, and judged.

        They become a part of the study, in the place of those of an earlier call. What was answered
        before, in this process or another, is not asked again.

        Returns
        -------
        Rows of :func:`aor_lib.analysis.results.load_results`, of these mitigations.

        Raises
        ------
        ModelError
            The model or the judge can be asked no more.
        StoreError
            A result cannot be kept.
        """
        return self._ask(asked, self._build)

    def withdraw(self) -> None:
        """Take the steered trials of earlier calls out of the study; their answers stay."""
        with Store(self._build / STORE) as store:
            store.set_plan([], self._part)

    @property
    def _part(self) -> str:
        return f"steering of {self._model.card.id}"

    def _ask(self, asked: Asked, folder: Path) -> pd.DataFrame:
        runs = []
        for mitigation, (vector, stimuli) in asked.items():
            model = SteeredModel(self._model, vector.intervention, vector.name)
            runs.append((model, stimuli, self._planned(mitigation, model, stimuli)))
        with (
            Store(folder / STORE) as store,
            self._progress(f"{self._model.card.id}: interventions") as report,
        ):
            store.set_plan([trial for *_, trials in runs for trial in trials], self._part)
            for number, (model, stimuli, trials) in enumerate(runs, 1):
                self._answer(trials, model, stimuli, store)
                report(number, len(runs))
        with self._progress("verdicts") as report:
            judge_study(folder, self._judge, report)
        results = load_results(folder, self._judge.id)
        of_model = results["model"] == self._model.card.id
        return results[of_model & results["mitigation"].isin(asked)]

    def _planned(
        self, mitigation: str, model: SteeredModel, stimuli: Sequence[Stimulus]
    ) -> list[Trial]:
        # The mitigation changes the model, not what it is told.
        only = Mitigation(id=mitigation, title=mitigation)
        study = self._study.model_copy(update={"mitigations": (only,)})
        return plan_trials(study, stimuli, [model])

    def _answer(
        self,
        trials: Sequence[Trial],
        model: SteeredModel,
        stimuli: Sequence[Stimulus],
        store: Store,
    ) -> None:
        run = answer_trials(trials, [model], stimuli, self._build, store, lambda progress: None)
        if run.stopped:
            reasons = "; ".join(run.stopped.values())
            raise ModelError(f"{model.card.id} was stopped while it was steered: {reasons}")


def require_both_kinds(tried: pd.DataFrame, model: str) -> None:
    """Without refusals and answers of either kind there are no two sides to tell apart.

    ``tried`` are rows of :meth:`Trials.unsteered`.

    Raises
    ------
    SteeringError
        There are fewer than :data:`NEEDED`.
    """
    refused = tried["label"].isin(REFUSALS)
    harmful, pseudo_harmful = (tried["intent"] == kind for kind in ("harmful", "pseudo_harmful"))
    masks = (refused & pseudo_harmful, refused & harmful, ~refused & ~harmful)
    found = {
        kind: tried.loc[mask, "utterance_id"].nunique()
        for kind, mask in zip(NEEDED, masks, strict=True)
    }
    if any(found[kind] < needed for kind, needed in NEEDED.items()):
        needed, there_are = (
            ", ".join(f"{count} {kind}" for kind, count in counts.items())
            for counts in (NEEDED, found)
        )
        raise SteeringError(
            f"{model}: a direction needs {needed} utterances in the 'dev' split under the "
            f"profile's mitigated_conditions; there are {there_are}"
        )
