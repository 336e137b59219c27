"""Results that travel: one machine's answers and verdicts, as a folder that another takes in.

:mod:`aor_lib.inference.bundles.schema` says what is in the folder.
:mod:`aor_lib.inference.bundles.inspect_log` makes a bundle of what inspect_ai asked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from pydantic import ValidationError

from aor_lib import __version__
from aor_lib.config.params import StudyParams
from aor_lib.config.records import Status, Trial
from aor_lib.inference.bundles.folder import first_problem, read_bundle, write_bundle
from aor_lib.inference.bundles.schema import Bundle, BundleError, TrialRow
from aor_lib.inference.provenance import (
    read_cards,
    read_provenance,
    record_cards,
    record_provenance,
)
from aor_lib.inference.store import IMPORTED, STORE, STUDY, Store, StoreError
from aor_lib.inference.store_rows import response_sha256
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli

__all__ = [
    "Bundle",
    "BundleError",
    "Imported",
    "add_bundle",
    "export_results",
    "forget_model",
    "import_results",
    "read_bundle",
    "write_bundle",
]


@dataclass(frozen=True)
class Imported:
    """Counts of an import, in trials.

    ``new``: were not in the study before; ``answered``: have an answer (or a failure) that it had
    not; ``left_out``: of stimuli that it does not have.
    """

    models: tuple[str, ...]
    trials: int
    new: int
    answered: int
    left_out: int


def export_results(study: StudyParams, build: Path, into: Path) -> Bundle:
    """Write all results of a study, imported ones too, as a bundle to a new folder.

    Returns
    -------
    The bundle, as it was written.

    Raises
    ------
    BundleError
        If there are no results, or a card is missing.
    StoreError, OSError
        If the folder is in use, or a file cannot be read or written; no folder appears.
    """
    path = build / STORE
    trials: list[Trial] = []
    if path.is_file():
        with Store(path) as store, store.transaction():  # of one moment, while a run may go on
            trials = sorted(
                store.planned(),
                key=attrgetter("arm.model", "arm.mitigation", "stimulus_id", "key"),
            )
            answers = list(store.answers())
            cards = {card.id: card for card in study.models} | read_cards(store)
            provenance = read_provenance(store)
    if not trials:
        raise BundleError(f"{path}: there are no results; run 'aor run' first")
    models = {trial.arm.model: trial.arm.revision for trial in trials}
    for model in models.keys() - cards.keys():
        raise BundleError(f"{path}: model {model!r} has no card; name it in the profile's models")
    try:
        bundle = Bundle(
            profile=study.profile.name,
            aor_version=__version__,
            trials=tuple(TrialRow(trial_key=trial.key, trial=trial) for trial in trials),
            responses=tuple(response for response, _ in answers),
            verdicts=tuple(verdict for _, verdicts in answers for verdict in verdicts),
            cards={model: cards[model] for model in sorted(models)},
            provenance=tuple(
                row.model_copy(update={"profile": row.profile or study.profile.name})
                for row in provenance
                if models.get(row.model) == row.revision
            ),
        )
    except ValidationError as error:
        raise BundleError(f"{into}: not written: {first_problem(error)}") from error
    write_bundle(bundle, into)
    return bundle


def import_results(
    folder: Path, study: StudyParams, build: Path, models: Collection[str] = ()
) -> Imported:
    """Add a bundle to the results of a study of the same stimuli; after an error, none of it.

    An answer that the study has is never replaced, nor is anything replaced by a failure. A verdict
    is only added where the same judge has none on the present answer. What is imported again
    changes nothing.

    Parameters
    ----------
    models
        Take only these; none means all.

    Raises
    ------
    BundleError
        If the bundle is damaged, or does not go with the study: other stimuli, another way of
        asking, another revision of a model. The message says what to do.
    FileNotFoundError
        If the study has no stimuli.
    OSError
        If a file cannot be read.
    """
    return add_bundle(folder, read_bundle(folder), study, build, models)


def add_bundle(
    source: Path, bundle: Bundle, study: StudyParams, build: Path, models: Collection[str] = ()
) -> Imported:
    """Add a bundle that was read from ``source``; see :func:`import_results`."""
    for model in sorted(set(models) - bundle.cards.keys()):
        raise BundleError(f"{source}: no model {model!r}; it has {', '.join(sorted(bundle.cards))}")
    chosen = [row.trial for row in bundle.trials if not models or row.trial.arm.model in models]
    trials = _of_the_study(source, chosen, build)
    _refuse_asked_otherwise(source, trials, study)
    try:
        with Store(build / STORE) as store, store.transaction():
            store.set_judge(study.profile.judge)
            new, answered = _merge(store, bundle, trials)
    except StoreError as error:
        raise BundleError(f"{source}: is not imported: {error}") from error
    names = tuple(sorted({trial.arm.model for trial in trials}))
    return Imported(names, len(trials), new, answered, len(chosen) - len(trials))


def forget_model(model: str, build: Path) -> int:
    """Take what was imported of a model out of a study, and return the number of its trials.

    Raises
    ------
    BundleError
        If nothing of it was imported.
    """
    if not (build / STORE).is_file():
        raise BundleError(f"{build / STORE}: there are no results")
    with Store(build / STORE) as store, store.transaction() as db:
        imported = store.planned(IMPORTED)
        others = [trial for trial in imported if trial.arm.model != model]
        if len(others) == len(imported):
            names = ", ".join(sorted({trial.arm.model for trial in imported})) or "none"
            raise BundleError(f"{build / STORE}: no imported model {model!r}; imported: {names}")
        store.set_plan(others, IMPORTED)
        db.execute("DELETE FROM provenance WHERE model = ? AND profile != ''", (model,))
    return len(imported) - len(others)


def _of_the_study(folder: Path, trials: Sequence[Trial], build: Path) -> list[Trial]:
    """Trials whose stimuli the study has; an error if it has others of the same names."""
    content = {stimulus.stimulus_id: stimulus.content_sha256 for stimulus in load_stimuli(build)}
    present = [trial for trial in trials if trial.stimulus_id in content]
    other = sorted({t.stimulus_id for t in present if t.stimulus_sha256 != content[t.stimulus_id]})
    if other:
        some = ", ".join(other[:3]) + (", ..." if len(other) > 3 else "")
        raise BundleError(
            f"{folder}: {len(other)} of its {len({t.stimulus_id for t in present})} stimuli are "
            f"not those of {build} (another sha256): {some}; give both machines the same clips: "
            f"copy {MANIFEST} and clips/ from one to the other, and run the models on them again"
        )
    if not present:
        raise BundleError(f"{folder}: has no stimulus of {build / MANIFEST}; is it another study?")
    return present


def _refuse_asked_otherwise(folder: Path, trials: Sequence[Trial], study: StudyParams) -> None:
    """Raise unless the trials were asked as the profile says: they stand beside the study's own."""
    mitigations = {mitigation.id: mitigation for mitigation in study.mitigations}
    for arm in dict.fromkeys(trial.arm for trial in trials):
        own, generation = mitigations.get(arm.mitigation), study.profile.generation
        if own is not None:
            generation = own.generation(generation)
        if arm.generation != generation:
            raise BundleError(
                f"{folder}: model {arm.model!r} was asked with generation {arm.generation!s}, and "
                f"profile {study.profile.name!r} says {generation!s}; run it with the same"
            )
        if own is not None and (arm.instruction, arm.steps) != (own.instruction, own.steps):
            raise BundleError(
                f"{folder}: model {arm.model!r} was given other words as mitigation "
                f"{arm.mitigation!r} than profile {study.profile.name!r} has under that name"
            )


def _merge(store: Store, bundle: Bundle, trials: Sequence[Trial]) -> tuple[int, int]:
    """Write what the store lacks; return the number of new trials and of new responses."""
    before = set(store.planned())
    store.set_plan(list(dict.fromkeys([*store.planned(IMPORTED), *trials])), IMPORTED)
    keys = {trial.key for trial in trials}
    had = {response.trial_key: response for response, _ in store.answers()}
    given = {row.trial_key: row for row in bundle.responses if row.trial_key in keys}
    store.record(
        row for key, row in given.items() if row.status is not Status.FAILED or key not in had
    )
    has, judged = {}, set()
    for response, verdicts in store.answers():
        has[response.trial_key] = response
        judged |= {(verdict.trial_key, verdict.judge) for verdict in verdicts}
    store.record_verdicts(
        (given[row.trial_key], row)
        for row in bundle.verdicts
        if row.trial_key in keys
        and (row.trial_key, row.judge) not in judged
        and response_sha256(given[row.trial_key]) == response_sha256(has[row.trial_key])
    )
    own = {trial.arm.model for trial in store.planned(STUDY)}
    imported = {trial.arm.model for trial in trials}
    record_cards(store, [bundle.cards[model] for model in imported - own])
    record_provenance(store, [row for row in bundle.provenance if row.model in imported])
    return len(set(trials) - before), sum(has[key] != had.get(key) for key in keys & has.keys())
