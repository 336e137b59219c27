"""Steered trials of a study, run by its engine and judged by its judge, and random controls.

Trials of ``test`` are stored in the study's folder, trials of ``dev`` in a subfolder of it.
"""

import logging
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from aor_lib.analysis.results import load_results
from aor_lib.config.params import StudyParams
from aor_lib.config.profile import Mitigation
from aor_lib.config.records import Intent, Split, Stimulus, Trial
from aor_lib.inference.engine import Run, Share
from aor_lib.inference.planning import conversation, trials_of
from aor_lib.inference.store import STEERED, STORE, Store
from aor_lib.judge.judgement import Judge
from aor_lib.judge.stored import judge_study
from aor_lib.models.base import AudioModel, Conversation, ModelError
from aor_lib.steering import tables
from aor_lib.steering.directions import random_like
from aor_lib.steering.residual_stream import Intervention, Mask, OpenModel, SteeredModel, each
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli
from aor_lib.storage.progress import Report

RANDOM = 19  # directions: the lowest rank then has a p value of 5 %
RANKED = 60  # pseudo-harmful stimuli at most, answered under every random direction
_log = logging.getLogger(__name__)

Part = tuple[Mitigation, Intervention | None, Sequence[Stimulus]]
"""Mitigation, its intervention (None for the unsteered model), and the stimuli to answer."""
_Asked = tuple[AudioModel, Sequence[Stimulus], Sequence[Trial]]


def as_mitigation(
    name: str, method: str, arm: str = tables.TESTED, *, is_control: bool = False
) -> Mitigation:
    """Mitigation to store with a steered trial; see :mod:`aor_lib.steering.tables`."""
    return Mitigation(id=name, title=name, arm=arm, method=method, is_control=is_control)


def random_controls(chosen: Intervention, stimuli: Sequence[Stimulus], opened: Mask) -> list[Part]:
    """Controls: random directions and, if the chosen intervention has a gate, a random gate.

    The same pseudo-harmful stimuli are answered under all directions. They are drawn from
    ``opened``: bool, ``(stimuli,)``, those for which the chosen gate opens, or all. A random gate
    steers the same number of stimuli as the chosen gate, drawn at random.
    """
    rng = np.random.default_rng(0)
    sounding = np.array([stimulus.intent is Intent.PSEUDO_HARMFUL for stimulus in stimuli])
    places = rng.permutation(np.flatnonzero(opened & sounding))[:RANKED]
    ranked = [stimuli[place] for place in np.sort(places)]

    def some(mask: Mask) -> list[Stimulus]:
        return [stimuli[place] for place in np.flatnonzero(mask)]

    parts: list[tuple[str, Intervention | None, list[Stimulus]]] = []
    for number in range(RANDOM):
        direction = random_like(chosen.direction, seed=number + 1)
        parts.append(("random", replace(chosen, direction=direction), ranked))
    if chosen.gate:
        at_random = rng.permutation(opened)
        # An open gate steers as no gate would, so these reuse the answers under the chosen one.
        parts.append(("random_gate", chosen, some(at_random & opened)))
        parts.append(("random_gate", replace(chosen, gate=None), some(at_random & ~opened)))
        parts.append(("random_gate", None, some(~at_random)))
    return [
        (as_mitigation(f"steering_{method}_{n}", method, is_control=True), intervention, asked)
        for n, (method, intervention, asked) in enumerate(parts, 1)
        if asked
    ]


@dataclass(frozen=True)
class SteeredTrials:
    """Run and judge a model's trials under interventions, for the study in ``build``."""

    model: OpenModel
    study: StudyParams
    build: Path
    judge: Judge
    progress: Callable[[str], AbstractContextManager[Report]]

    @property
    def name(self) -> str:
        """Id of the model."""
        return self.model.card.id

    @cached_property
    def _stimuli(self) -> dict[str, Stimulus]:
        return {stimulus.stimulus_id: stimulus for stimulus in load_stimuli(self.build)}

    def stimuli(self, trials: pd.DataFrame) -> list[Stimulus]:
        """Stimuli of trials, in order."""
        return [self._stimuli[name] for name in trials["stimulus_id"]]

    def conversations(self, trials: pd.DataFrame) -> list[Conversation]:
        """Conversations of trials, to be passed to ``model.answer``."""
        return [conversation(stimulus, self.build) for stimulus in self.stimuli(trials)]

    def ask(self, parts: Sequence[Part], split: Split) -> pd.DataFrame:
        """Run and judge the trials of a split, replacing the planned trials of an earlier call.

        Runs only trials without an answer, and retries failed ones once. Returns the rows of
        ``load_results`` with these mitigations. ModelError if the model or the judge stops working.
        """
        folder = self.build
        if split is Split.DEV:
            folder = self.build / tables.FOLDER / "dev"
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.build / MANIFEST, folder / MANIFEST)
        plan, runs = list[Trial](), list[_Asked]()
        for mitigation, item, stimuli in parts:
            model: AudioModel = SteeredModel(self.model, item) if item else self.model
            trials = trials_of(model, mitigation, stimuli, self.study.profile.generation)
            # Two parts may share a trial. If both ran it, its batch would depend on chance.
            known = {trial.key for trial in plan}
            runs.append((model, stimuli, [trial for trial in trials if trial.key not in known]))
            plan += trials
        with Store(folder / STORE) as store:
            store.set_plan(plan, STEERED + self.name)

        def answer(asked: _Asked) -> int:
            model, stimuli, trials = asked
            share = Share(max_failures=np.inf)  # an intervention may make every trial fail
            with Store(folder / STORE) as store:
                for _ in range(2):  # failed trials are retried once
                    run = Run(trials, [model], stimuli, self.build, store, share)
                    run.answer(lambda done, of: None)
            if run.stopped:
                raise ModelError(f"{self.name} was stopped: {run.stopped[self.name]}")
            return len(run.failed)

        with self.progress(f"{self.name}: interventions") as report:
            failed = sum(each(self.model, answer, runs, report))
        if failed:
            _log.warning("%s: %d steered trials of %s failed twice", self.name, failed, split)
        with self.progress("verdicts") as report:
            judge_study(folder, self.judge, report)
        results = load_results(folder, self.judge.id)
        asked = results["mitigation"].isin([mitigation.id for mitigation, *_ in parts])
        return results[asked & results["model"].eq(self.name)]
