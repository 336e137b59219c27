"""What tests of results bundles share: machines that each have a study of the same texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from aor_lib.config.params import Mitigation, Study
from aor_lib.config.profile import Profile, UtteranceCounts
from aor_lib.config.records import Stimulus
from aor_lib.inference.bundles import export_results
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import DEFAULT_JUDGE, JUDGES, judge_response
from aor_lib.models.base import Answer, Failure
from aor_lib.stimuli.manifest import MANIFEST
from tests.inference.scripted import MANY, Scripted, run_all, text_stimuli

JUDGE = JUDGES[DEFAULT_JUDGE]
STUDY = Study(
    profile=Profile(
        name="tiny",
        scenarios=("kitchen",),
        utterances_per_scenario=UtteranceCounts(pseudo_harmful=1, harmful=1, benign=1),
        voices=("af_heart",),
        conditions=("text_only",),
        models=("own",),
    ),
    scenarios=(),
    models=(),
    mitigations=(Mitigation(id="none", title="None"),),
)
"""A study that nothing is built of."""


def model(
    name: str,
    answer: Callable[[str], Answer | Failure] = lambda text: Answer(f"An answer to {text}.", 3),
    **card: object,
) -> Scripted:
    """A model that answers with a function of the text, whose card has a title of its own."""
    made = Scripted(answer, name)
    made.card = made.card.model_copy(update={"title": f"The model {name}"} | card)
    return made


class Machine:
    """A folder with a study's stimuli, which models are asked and results are exchanged with."""

    def __init__(self, build: Path, stimuli: Sequence[Stimulus]) -> None:
        self.build, self.study, self.stimuli = build, STUDY, list(stimuli)
        build.mkdir(parents=True, exist_ok=True)
        rows = pd.DataFrame([s.model_dump(mode="json") for s in stimuli])
        rows.to_parquet(build / MANIFEST)

    def ask(self, *models: Scripted) -> Machine:
        """Have models answer all stimuli, and judge what they said."""
        run_all(self.build / STORE, list(models), self.stimuli, max_failures=MANY)
        with Store(self.build / STORE) as store:
            unjudged = store.unjudged(JUDGE.id, JUDGE.version)
            store.record_verdicts([(r, judge_response(r, JUDGE)) for r in unjudged])
        return self

    def export(self, name: str = "bundle") -> Path:
        """Its results as a bundle."""
        folder = self.build.parent / f"{self.build.name}-{name}"
        export_results(self.study, self.build, folder)
        return folder

    def tables(self) -> dict[str, list[tuple[object, ...]]]:
        """All that its store holds."""
        names = ("trials", "plan", "responses", "verdicts", "cards", "provenance")
        with Store(self.build / STORE) as store:
            return {name: sorted(store.read(f"SELECT * FROM {name}"), key=repr) for name in names}


def machine(build: Path, number: int = 6) -> Machine:
    """A machine with so many texts."""
    return Machine(build, text_stimuli(number))


def rewrite(bundle: Path, name: str, change: Callable[[list[dict]], object]) -> None:
    """Change the rows of a table in place, and its hash with them: a forged bundle."""
    schema = pq.read_schema(bundle / name)
    rows = pq.read_table(bundle / name).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), bundle / name)
    sign(bundle, name)


def sign(bundle: Path, name: str) -> None:
    """Make the manifest name the present content of a file."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["files"][name] = sha256((bundle / name).read_bytes()).hexdigest()
    (bundle / "manifest.json").write_text(json.dumps(manifest))
