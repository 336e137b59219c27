"""Results move between machines: a study exports its own, and imports those of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from aor_lib import __version__
from aor_lib.config.params import StudyParams
from aor_lib.config.records import Trial
from aor_lib.inference.bundle import Bundle, BundleError, read_bundle, write_bundle
from aor_lib.inference.store import IMPORTED, STORE, STUDY, Store, open_results
from aor_lib.stimuli import manifest
from aor_lib.stimuli.manifest import MANIFEST, VALIDATION, load_stimuli


@dataclass(frozen=True)
class Imported:
    """Counts of an import, in trials."""

    models: tuple[str, ...]
    trials: int
    answered: int  # with a response that the study had not
    left_out: int  # of other stimuli


def export_results(study: StudyParams, build: Path, into: Path, *, clips: bool = True) -> Bundle:
    """Write all results of a study, imported ones too, to a new zip file, and return them.

    Parameters
    ----------
    clips
        Add the validated stimuli and the tables of steering, of which a book can be made.

    Raises
    ------
    BundleError, FileNotFoundError
        If the file exists, there are no results, or the clips were imported.
    """
    order = attrgetter("arm.model", "arm.mitigation", "stimulus_id", "key")
    with open_results(build) as store, store.transaction():  # of one moment of a run
        trials = sorted(store.planned(), key=order)
        models = {trial.arm.model for trial in trials}
        bundle = Bundle(
            aor_version=__version__,
            profile=study.profile.name,
            cards={name: card for name, card in store.cards().items() if name in models},
            provenance=tuple(
                row.model_copy(update={"profile": row.profile or study.profile.name})
                for row in store.provenance()
                if row.model in models
            ),
            trials=tuple(trials),
            responses=tuple(store.responses()),
            verdicts=tuple(store.verdicts()),
        )
    names = []
    if clips:
        if "imported" in set(manifest.load_manifest(build)["block"]):
            raise BundleError(f"{build}: imported clips are not passed on: add --no-clips")
        manifest.load_validation(build)  # or it says what to run
        steering = sorted(table.name for table in (build / "steering").glob("*.parquet"))
        names = [MANIFEST, VALIDATION, *(f"steering/{name}" for name in steering)]
        names += [name for name, _ in manifest.sound_files(load_stimuli(build))]
    write_bundle(bundle, into, {name: build / name for name in names})
    return bundle


def import_results(path: Path, study: StudyParams, build: Path) -> Imported:
    """Add a bundle to a study's results; after an error, none of it.

    Parameters
    ----------
    path
        A zip file of :func:`export_results`.

    Raises
    ------
    BundleError, StoreError
        If the bundle is damaged, or of other stimuli, settings or revisions than the study.
    """
    bundle = read_bundle(path)
    trials = _of_the_study(path, bundle.trials, build)
    _refuse_asked_otherwise(path, trials, study)
    keys, models = {trial.key for trial in trials}, {trial.arm.model for trial in trials}
    given = {row.trial_key: row for row in bundle.responses if row.trial_key in keys}
    with Store(build / STORE) as store, store.transaction():
        store.set_judge(study.profile.judge)
        store.set_plan(list(dict.fromkeys([*store.planned(IMPORTED), *trials])), IMPORTED)
        answered = store.record(given.values())
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
        raise BundleError(f"{path}: has no stimulus of {build / MANIFEST}; is it another study?")
    return present


def _refuse_asked_otherwise(path: Path, trials: Sequence[Trial], study: StudyParams) -> None:
    mitigations = {mitigation.id: mitigation for mitigation in study.mitigations}
    for arm in dict.fromkeys(trial.arm for trial in trials):
        says = (study.profile.generation, arm.instruction, arm.steps)
        if own := mitigations.get(arm.mitigation):
            says = (own.generation(study.profile.generation), own.instruction, own.steps)
        if (asked := (arm.generation, arm.instruction, arm.steps)) != says:
            raise BundleError(
                f"{path}: model {arm.model!r}, mitigation {arm.mitigation!r}: was asked with "
                f"{asked}, and profile {study.profile.name!r} says {says}; run it with the same"
            )
