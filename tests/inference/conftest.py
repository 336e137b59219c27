from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from aor_lib.config.params import StudyParams
from aor_lib.config.profile import Mitigation, Profile
from aor_lib.config.records import Arm, Generation, Stimulus, Trial
from aor_lib.inference.engine import Run, Share
from aor_lib.inference.exchange import export_results
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import DEFAULT_JUDGE, JUDGES
from aor_lib.judge.stored import judge_study
from aor_lib.models.base import Answer
from aor_lib.stimuli.manifest import write_manifest
from tests.conftest import ScriptedModel, make_text_stimuli

STUDY = StudyParams(
    profile=Profile(
        name="tiny",
        scenarios=("kitchen",),
        utterances_per_scenario={"pseudo_harmful": 1},
        voices=("af_heart",),
        conditions=("text_only",),
        models=("own",),
    ),
    scenarios=(),
    models=(),
    mitigations=(Mitigation(id="none", title="None"),),
)


def run_texts(path: Path, models, stimuli, settings_sha256="0" * 64, max_failures=1e9):
    """Run a trial of each stimulus for each model on a store, however many fail."""
    arms = [Arm(m.card.id, m.revision, settings_sha256, "none", None, Generation()) for m in models]
    trials = [Trial(s.stimulus_id, s.content_sha256, arm) for arm in arms for s in stimuli]
    with Store(path) as store:
        store.set_plan(trials)
        store.record_cards([model.card for model in models])
        run = Run(trials, models, stimuli, path.parent, store, Share(max_failures=max_failures))
        run.answer(lambda done, of: None)
    return run


def outcomes_in(path: Path) -> list[tuple[object, ...]]:
    with Store(path) as store:
        frame = store.frame("rules")
    columns = ["trial_key", "stimulus_id", "status", "response", "error", "heard", "tokens"]
    return list(frame[columns].astype(object).where(frame[columns].notna(), None).itertuples(False))


class Machine:
    """A folder with a study's stimuli, which models are asked and results are exchanged with."""

    def __init__(self, build: Path, stimuli: list[Stimulus]) -> None:
        self.build, self.study, self.stimuli = build, STUDY, stimuli
        build.mkdir(parents=True, exist_ok=True)
        write_manifest(stimuli, build)

    def ask(self, *models: ScriptedModel, **options: object) -> Machine:
        """Have models answer all stimuli, and judge what they answered."""
        run_texts(self.build / STORE, list(models), self.stimuli, **options)
        judge_study(self.build, JUDGES[DEFAULT_JUDGE], lambda done, of: None)
        return self

    def export(self) -> Path:
        path = self.build.parent / f"{self.build.name}.zip"
        export_results(self.study, self.build, path, clips=False)
        return path

    def tables(self) -> dict[str, list[tuple[object, ...]]]:
        with closing(sqlite3.connect(self.build / STORE)) as db:
            names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return {t: sorted(db.execute(f"SELECT * FROM {t}"), key=repr) for (t,) in names}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / STORE


def model(name, answer=lambda text: Answer(f"An answer to {text}.", 3)):
    made = ScriptedModel(answer, name)
    made.card = made.card.model_copy(update={"title": f"The model {name}"})
    return made


@pytest.fixture
def machine(tmp_path):
    texts = make_text_stimuli(6)
    return lambda name, stimuli=texts: Machine(tmp_path / name, stimuli)


@pytest.fixture
def here(machine):
    return machine("here").ask(model("own"))
