"""From bundles to a study's results, beside its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from aor_lib.config.params import Study
from aor_lib.config.records import Response, Status, Trial
from aor_lib.inference.bundles.content import Bundle, BundleError
from aor_lib.inference.bundles.reading import read_bundle
from aor_lib.inference.provenance import record_cards, record_provenance
from aor_lib.inference.store import IMPORTED, STORE, STUDY, Store, StoreError
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli


@dataclass(frozen=True)
class Imported:
    """What an import came to, in trials.

    ``new``: were not in the study before; ``answered``: have an answer (or a failure) that it had
    not; ``left_out``: of stimuli that it does not have.
    """

    models: tuple[str, ...]
    trials: int
    new: int
    answered: int
    left_out: int


def import_results(
    folder: Path, study: Study, build: Path, models: Collection[str] = ()
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
        The bundle is damaged, or does not go with the study: other stimuli, another way of asking,
        another revision of a model. The message says what to do.
    StoreError, FileNotFoundError, OSError
        As said by their messages.
    """
    bundle = read_bundle(folder)
    has = {trial.arm.model for trial in bundle.trials}
    for model in sorted(set(models) - has):
        raise BundleError(f"{folder}: no model {model!r}; it has {', '.join(sorted(has))}")
    chosen = [t for t in bundle.trials if not models or t.arm.model in models]
    trials = _of_the_study(folder, chosen, build)
    _refuse_unlike(folder, trials, study)
    try:
        with Store(build / STORE) as store, store.transaction():
            new, answered = _merge(store, bundle, trials)
    except StoreError as error:
        raise BundleError(f"{folder}: is not imported: {error}") from error
    names = tuple(sorted({trial.arm.model for trial in trials}))
    return Imported(names, len(trials), new, answered, len(chosen) - len(trials))


def forget_model(model: str, build: Path) -> int:
    """Take what was imported of a model out of a study, and return how many trials that were.

    Raises
    ------
    BundleError
        Nothing of it was imported.
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
    """The trials whose stimuli the study has; an error if it has others of the same names."""
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


def _refuse_unlike(folder: Path, trials: Sequence[Trial], study: Study) -> None:
    """What stands side by side must have been asked in the same way."""
    words = {prompt.id: (prompt.instruction, prompt.steps) for prompt in study.mitigations}
    for arm in {trial.arm: None for trial in trials}:
        if arm.generation != study.profile.generation:
            raise BundleError(
                f"{folder}: model {arm.model!r} was asked with generation {arm.generation!s}, and "
                f"profile {study.profile.name!r} says {study.profile.generation!s}; run it with "
                "the same"
            )
        asked = arm.instruction, arm.steps
        if asked != words.get(arm.mitigation, asked):
            raise BundleError(
                f"{folder}: model {arm.model!r} was given other words as mitigation "
                f"{arm.mitigation!r} than profile {study.profile.name!r} has under that name"
            )


def _merge(store: Store, bundle: Bundle, trials: Sequence[Trial]) -> tuple[int, int]:
    """Write what the store lacks; how many trials and how many responses that were."""
    before = set(store.planned())
    store.set_plan(list(dict.fromkeys([*store.planned(IMPORTED), *trials])), IMPORTED)
    keys = {trial.key for trial in trials}
    had = {response.trial_key: response for response, _ in store.answers()}
    store.record(
        response
        for response in bundle.responses
        if response.trial_key in keys
        and (response.status is not Status.FAILED or response.trial_key not in had)
    )
    has, judged = {}, set()
    for response, verdicts in store.answers():
        has[response.trial_key] = response
        judged |= {(verdict.trial_key, verdict.judge) for verdict in verdicts}
    given = {response.trial_key: response for response in bundle.responses}
    store.record_verdicts(
        (given[verdict.trial_key], verdict)
        for verdict in bundle.verdicts
        if verdict.trial_key in keys
        and (verdict.trial_key, verdict.judge) not in judged
        and _says_the_same(given[verdict.trial_key], has[verdict.trial_key])
    )
    own = {trial.arm.model for trial in store.planned(STUDY)}
    imported = {trial.arm.model for trial in trials}
    record_cards(store, [card for card in bundle.cards if card.id in imported - own])
    record_provenance(store, [row for row in bundle.provenance if row.model in imported])
    return len(set(trials) - before), sum(has[key] != had.get(key) for key in keys & has.keys())


def _says_the_same(one: Response, other: Response) -> bool:
    return (one.status, one.text, one.error) == (other.status, other.text, other.error)
