"""The trials of a study that steering needs: those without steering, and steered ones.

Steered trials are asked by the study's engine and judged by its judge. Those of ``test`` are kept
in the study's folder; those of ``dev`` in a folder of their own, which no page looks at.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.results import load_results
from aor_lib.analysis.selections import core, unmitigated
from aor_lib.config.params import StudyParams
from aor_lib.config.profile import Mitigation
from aor_lib.config.records import Stimulus, Trial
from aor_lib.inference.engine import Run
from aor_lib.inference.planning import conversation, trials_of
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import Judge
from aor_lib.judge.stored import judge_study
from aor_lib.models.base import AudioModel, Conversation, ModelError
from aor_lib.steering import SteeringError
from aor_lib.steering.tables import FOLDER
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli
from aor_lib.storage.workers import in_threads

NEEDED = {"refused pseudo-harmful": 8, "refused harmful": 4, "answered harmless": 2}
"""Utterances of ``dev`` without which nothing is fitted, each in several conditions. The mean of
fewer says little."""

Asked = Mapping[str, tuple[AudioModel, Sequence[Stimulus]]]
"""Steered models by the ids of their mitigations, each with the stimuli that it is to answer."""
_Run = tuple[AudioModel, Sequence[Stimulus], Sequence[Trial]]
Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Such as :func:`aor_lib.storage.progress.progress`."""


def spoken_trials(results: pd.DataFrame) -> pd.DataFrame:
    """Trials that steering looks at: unmitigated and judged, of the core design, asked aloud."""
    asked = core(unmitigated(results))
    intents = ["pseudo_harmful", "harmful", "benign"]
    return asked[asked["path"].notna() & asked["intent"].isin(intents) & is_judged(asked)]


def unsteered_trials(
    build: Path | str, model: AudioModel, judge: str | None = None
) -> pd.DataFrame:
    """The :func:`spoken_trials` of a model in a study, with its answers and their labels.

    Returns
    -------
    Rows of :func:`aor_lib.analysis.results.load_results`.

    Raises
    ------
    SteeringError
        If there are none, or they are of another revision of the model.
    """
    results = load_results(build, judge)
    trials = spoken_trials(results[results["model"] == model.card.id])
    if trials.empty or set(trials["revision"]) != {model.revision}:
        raise SteeringError(
            f"{model.card.id}: there are no judged answers of this revision; run 'aor run' and "
            "'aor judge' first"
        )
    return trials


def conversations(build: Path | str, trials: pd.DataFrame) -> list[Conversation]:
    """Conversations of trials, to be passed to ``model.answer``."""
    stimuli = {stimulus.stimulus_id: stimulus for stimulus in load_stimuli(build)}
    return [conversation(stimuli[name], Path(build)) for name in trials["stimulus_id"]]


def families(study: StudyParams) -> dict[str, str]:
    """The utterance that each harmful contrast minimally changes, by the contrast's id."""
    return {
        utterance.id: utterance.contrast_of
        for scenario in study.scenarios
        for utterance in scenario.utterances
        if utterance.contrast_of
    }


def require_both_kinds(tried: pd.DataFrame, model: str) -> None:
    """Refuse trials with too few refusals or answers of either kind to tell them apart.

    Raises
    ------
    SteeringError
        If there are fewer than :data:`NEEDED`.
    """
    refused = tried["label"].isin(REFUSALS)
    harmful, pseudo_harmful = (tried["intent"] == kind for kind in ("harmful", "pseudo_harmful"))
    masks = (refused & pseudo_harmful, refused & harmful, ~refused & ~harmful)
    there_are = {
        kind: tried.loc[mask, "utterance_id"].nunique()
        for kind, mask in zip(NEEDED, masks, strict=True)
    }
    if any(there_are[kind] < needed for kind, needed in NEEDED.items()):
        in_words = [
            ", ".join(f"{count} {kind}" for kind, count in counts.items())
            for counts in (NEEDED, there_are)
        ]
        raise SteeringError(
            f"{model}: a direction needs {in_words[0]} utterances in the 'dev' split, over "
            f"threatening scenes or in the profile's mitigated_conditions; there are {in_words[1]}"
        )


@dataclass(frozen=True)
class SteeredTrials:
    """Asks steered models, in the name of one model of a study."""

    model: str
    study: StudyParams
    build: Path
    judge: Judge
    progress: Progress

    def on_dev(self, asked: Asked) -> pd.DataFrame:
        """Have stimuli of ``dev`` answered; see :meth:`on_test`."""
        folder = self.build / FOLDER / "dev"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.build / MANIFEST, folder / MANIFEST)
        return self._ask(asked, folder)

    def on_test(self, asked: Asked) -> pd.DataFrame:
        """Have stimuli of ``test`` answered by steered models, each a mitigation, and judged.

        They become a part of the study, in the place of those of an earlier call. A trial that was
        answered before, in this process or another, is not asked again.

        Returns
        -------
        Rows of :func:`aor_lib.analysis.results.load_results`, of these mitigations.

        Raises
        ------
        ModelError
            If the model or the judge can be asked no more.
        StoreError
            If a result cannot be kept.
        """
        return self._ask(asked, self.build)

    def withdraw(self) -> None:
        """Take the steered trials of earlier calls out of the study; their answers stay."""
        with Store(self.build / STORE) as store:
            store.set_plan([], self._part)

    @property
    def _part(self) -> str:
        return f"steering of {self.model}"

    def _ask(self, asked: Asked, folder: Path) -> pd.DataFrame:
        runs: list[_Run] = []
        plan: list[Trial] = []
        for mitigation, (model, stimuli) in asked.items():
            # The mitigation changes the model, not what it is told.
            only = Mitigation(id=mitigation, title=mitigation)
            trials = trials_of(model, only, stimuli, self.study.profile.generation)
            # Two parts may hold the same trial. If both asked it, chance would choose its batch.
            known = {trial.key for trial in plan}
            runs.append((model, stimuli, [trial for trial in trials if trial.key not in known]))
            plan += trials
        with Store(folder / STORE) as store:
            store.set_plan(plan, self._part)

        def ask(run: _Run) -> Mapping[str, str]:
            model, stimuli, trials = run
            with Store(folder / STORE) as store:
                asking = Run(trials, [model], stimuli, self.build, store)
                return asking.answer(lambda _: None).stopped

        side_by_side = all(model.capabilities.side_by_side for model, *_ in runs)
        with (
            closing(in_threads(ask, runs, side_by_side=side_by_side)) as stopped,
            self.progress(f"{self.model}: interventions") as report,
        ):
            for number, reasons in enumerate(stopped, 1):
                if reasons:
                    raise ModelError(
                        f"{self.model} was stopped while it was steered: "
                        f"{'; '.join(reasons.values())}"
                    )
                report(number, len(runs))
        with self.progress("verdicts") as report:
            judge_study(folder, self.judge, report)
        results = load_results(folder, self.judge.id)
        return results[(results["model"] == self.model) & results["mitigation"].isin(asked)]
