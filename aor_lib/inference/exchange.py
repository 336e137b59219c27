"""Exchange of results between machines: a study exports its own and imports those of others.

A bundle is one zip file: ``manifest.json`` with every file's sha256, tables, and ``study/``.
"""

import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Literal, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError, model_validator

from aor_lib import __version__
from aor_lib.config.params import ModelCard, StudyParams
from aor_lib.config.records import DATASET_VERSION, Label, Response, Row, Status, Trial, Verdict
from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.inference.asking import Provenance
from aor_lib.inference.store import IMPORTED, STORE, STUDY, Store, open_results
from aor_lib.stimuli import manifest
from aor_lib.stimuli.manifest import MANIFEST, VALIDATION, load_stimuli
from aor_lib.stimuli.validation import require_validated
from aor_lib.storage.atomic_write import atomic_write

CONTENTS = "manifest.json"
FOLDER = "study"  # in a bundle, for files of a study's folder other than its results

_TABLES = ("trials", "responses", "verdicts")
_MEMBER = re.compile(
    rf"({'|'.join(_TABLES)}).parquet|{FOLDER}/(manifest|validation)\.parquet"
    rf"|{FOLDER}/clips/[\w.-]+\.flac|{FOLDER}/steering/\w+\.parquet"
)


class BundleError(AorError, ValueError):
    """Error for a bundle that cannot be made, read or imported; the message is one line."""


class Bundle(Row, str_strip_whitespace=False):
    """The results of a study: trials, their responses and verdicts, and provenance."""

    format_version: Literal[3] = 3
    dataset_version: Literal[3] = DATASET_VERSION
    aor_version: str  # version that exported it
    profile: str
    cards: dict[str, ModelCard]  # one per model of the trials
    provenance: tuple[Provenance, ...]
    files: dict[str, str] = Field(default={})  # sha256 of each file in the zip file
    trials: tuple[Trial, ...]
    responses: tuple[Response, ...]
    verdicts: tuple[Verdict, ...]

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        keys = {trial.key for trial in self.trials}
        status = {row.trial_key: row.status for row in self.responses}
        if len(status) < len(self.responses) or not status.keys() <= keys:
            raise ValueError("responses: one is duplicated, or has no trial in the bundle")
        judged = {(row.trial_key, row.judge) for row in self.verdicts}
        answered = {key for key, value in status.items() if value is Status.OK}
        labelled = {row.trial_key for row in self.verdicts if row.label is not Label.UNJUDGED}
        if len(judged) < len(self.verdicts) or not labelled <= answered:
            raise ValueError("verdicts: one is duplicated, or has no answer in the bundle")
        models = {trial.arm.model for trial in self.trials}
        if {(name, card.id) for name, card in self.cards.items()} != {(m, m) for m in models}:
            raise ValueError("cards: exactly one per model of the trials is needed")
        return self


def write_bundle(bundle: Bundle, into: Path, study: Mapping[str, Path]) -> None:
    """Write a new zip file with a bundle and files of the study, by their paths in its folder."""
    if into.exists():
        raise BundleError(f"{into}: exists; remove it or name another file")
    fields = bundle.model_dump(mode="json")
    tables = {}
    for name in _TABLES:
        table = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(fields.pop(name)), table)
        tables[f"{name}.parquet"] = table.getvalue()
    files = ((f"{FOLDER}/{name}", path.read_bytes()) for name, path in study.items())
    with atomic_write(into) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in chain(tables.items(), files):
            fields["files"][name] = sha256(content).hexdigest()
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.writestr(zipfile.ZipInfo(CONTENTS), json.dumps(fields, indent=2))


def read_bundle(path: Path, extract_to: Path | None = None) -> Bundle:
    """Read and check a whole bundle; extract its files of the study to a folder, if given.

    BundleError if it is damaged or of another version; the message quotes no answer.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            fields = json.loads(archive.read(CONTENTS))
            for name in {*archive.namelist(), *fields["files"]} - {CONTENTS}:
                if name not in fields["files"] or not _MEMBER.fullmatch(name):
                    raise ValueError(f"contains {name!r}, which does not belong in a bundle")
                content = archive.read(name)
                if sha256(content).hexdigest() != fields["files"][name]:
                    raise ValueError(f"{name}: does not match its sha256")
                _, in_study, rest = name.partition(f"{FOLDER}/")
                if not in_study:
                    rows = pq.ParquetFile(pa.BufferReader(content)).read().to_pylist()
                    fields[name.removesuffix(".parquet")] = rows
                elif extract_to is not None:
                    (extract_to / rest).parent.mkdir(parents=True, exist_ok=True)
                    (extract_to / rest).write_bytes(content)
        return Bundle.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]  # without the value, which may be an answer
        where = [f"row {part + 1}" if isinstance(part, int) else str(part) for part in first["loc"]]
        problem = ": ".join([*where, first["msg"].removeprefix("Value error, ")])
        raise BundleError(f"{path}: {one_line(problem)}") from error
    except Exception as error:  # a damaged or encrypted file raises almost anything
        why = f"cannot be read as a bundle of results: {one_line(error)}"
        raise BundleError(f"{path}: {why}; 'aor export' writes one") from error


@dataclass(frozen=True)
class Imported:
    """Models and numbers of trials of an import."""

    models: tuple[str, ...]
    trials: int
    answered: int  # with a response that is new to the study
    left_out: int  # on stimuli that the study lacks


def export_results(study: StudyParams, build: Path, into: Path, *, clips: bool = True) -> Bundle:
    """Write all results of a study, including imported ones, to a new zip file; return them.

    Results for stimuli that have changed since are left out. ``clips`` adds the validated stimuli
    and the steering tables, from which a book can be built. BundleError, DatasetError or
    FileNotFoundError if the file exists, if there are no results, or if the clips were imported or
    lack a current validation.
    """
    order = attrgetter("arm.model", "arm.mitigation", "stimulus_id", "key")
    with open_results(build) as store, store.transaction():  # a consistent snapshot
        content = {row.stimulus_id: row.content_sha256 for row in load_stimuli(build)}
        current = [t for t in store.planned() if t.stimulus_sha256 == content.get(t.stimulus_id)]
        trials, keys = sorted(current, key=order), {trial.key for trial in current}
        if not trials:
            raise BundleError(f"{build}: has no trials of its present stimuli; run 'aor run'")
        models, profile = {trial.arm.model for trial in trials}, study.profile.name
        rows = store.provenance()
        provenance = [row.model_copy(update={"profile": row.profile or profile}) for row in rows]
        bundle = Bundle(
            aor_version=__version__,
            profile=profile,
            cards={name: card for name, card in store.cards().items() if name in models},
            provenance=tuple(row for row in provenance if row.model in models),
            trials=tuple(trials),
            responses=tuple(row for row in store.responses() if row.trial_key in keys),
            verdicts=tuple(row for row in store.verdicts() if row.trial_key in keys),
        )
    names = []
    if clips:
        if "imported" in set(manifest.load_manifest(build)["block"]):
            raise BundleError(f"{build}: imported clips cannot be exported: add --no-clips")
        require_validated(study, build)
        steering = sorted(table.name for table in (build / "steering").glob("*.parquet"))
        names = [MANIFEST, VALIDATION, *(f"steering/{name}" for name in steering)]
        names += [name for name, _ in manifest.sound_files(load_stimuli(build))]
    write_bundle(bundle, into, {name: build / name for name in names})
    return bundle


def import_results(path: Path, study: StudyParams, build: Path) -> Imported:
    """Import a bundle of :func:`export_results` into a study; nothing is kept after an error.

    BundleError or StoreError if it is damaged, or its stimuli, settings or revisions differ.
    """
    bundle = read_bundle(path)
    trials = _of_the_study(path, bundle.trials, build)
    _refuse_asked_otherwise(path, trials, study)
    keys, models = {trial.key for trial in trials}, {trial.arm.model for trial in trials}
    given = {row.trial_key: row for row in bundle.responses if row.trial_key in keys}
    with Store(build / STORE) as store, store.transaction():
        store.set_judge(study.profile.judge)
        store.set_plan(list(dict.fromkeys([*store.planned(IMPORTED), *trials])), IMPORTED)
        present = {row.trial_key for row in store.responses()}
        failed = {key for key, row in given.items() if row.status is Status.FAILED}
        answered = store.record(given[key] for key in given.keys() - (failed & present))
        store.refuse_unlike()
        judged = {(verdict.trial_key, verdict.judge) for verdict in store.verdicts()}
        store.record_verdicts(
            (given[row.trial_key], row)
            for row in bundle.verdicts
            if row.trial_key in given and (row.trial_key, row.judge) not in judged
        )
        own = {trial.arm.model for trial in store.planned(STUDY)}
        store.record_cards(bundle.cards[model] for model in models - own)
        store.record_provenance(row for row in bundle.provenance if row.model in models)
    return Imported(tuple(sorted(models)), len(trials), answered, len(bundle.trials) - len(trials))


def _of_the_study(path: Path, trials: Sequence[Trial], build: Path) -> list[Trial]:
    content = {stimulus.stimulus_id: stimulus.content_sha256 for stimulus in load_stimuli(build)}
    present = [trial for trial in trials if trial.stimulus_id in content]
    other = {t.stimulus_id for t in present if t.stimulus_sha256 != content[t.stimulus_id]}
    if other:
        raise BundleError(
            f"{path}: {len(other)} of its {len({t.stimulus_id for t in present})} stimuli have "
            f"another sha256 than in {build / MANIFEST}: {', '.join(sorted(other)[:3])}; copy that "
            "file and clips/ to the other machine, and run the models on them again"
        )
    if not present:
        raise BundleError(f"{path}: has no stimulus of {build / MANIFEST}; is it another study's?")
    return present


def _refuse_asked_otherwise(path: Path, trials: Sequence[Trial], study: StudyParams) -> None:
    mitigations = {mitigation.id: mitigation for mitigation in study.mitigations}
    for arm in dict.fromkeys(trial.arm for trial in trials):
        generation = study.profile.generation
        if arm.method == "decoding":  # its own settings, with the profile's token limit
            longest = {"max_new_tokens": generation.max_new_tokens}
            generation = arm.generation.model_copy(update=longest)
        says = (generation, arm.instruction, arm.steps)
        if own := mitigations.get(arm.mitigation):
            says = (own.generation(study.profile.generation), own.instruction, own.steps)
        if (asked := (arm.generation, arm.instruction, arm.steps)) != says:
            raise BundleError(
                f"{path}: model {arm.model!r}, mitigation {arm.mitigation!r}: was run with "
                f"{asked}, but profile {study.profile.name!r} has {says}; the two must be equal"
            )
