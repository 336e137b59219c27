"""The ``aor`` command: every verb is one call into the library.

Anything that a person can mend ends in one line on standard error and a non-zero exit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from aor_lib.params import PARAMS, load_model_cards, load_study
from aor_lib.progress import progress
from aor_lib.typed_yaml import ParamsError

if TYPE_CHECKING:
    from aor_lib.clips import ImportReport
    from aor_lib.models.base import AudioModel
    from aor_lib.params import ModelCard, Study

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure over-refusal of audio language models. The verbs in order: data, run, judge.",
)
ParamsFile = Annotated[Path, typer.Argument(help="A profile, such as params/smoke.yaml.")]
BuildFolder = Annotated[
    Path | None, typer.Option("--build", help="Folder of the study.  [default: build/PROFILE]")
]


@app.command()
def data(
    params: ParamsFile,
    build: BuildFolder = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a dask scheduler whose workers to use instead.")
    ] = None,
) -> None:
    """Make the stimuli and their manifest; goes on where an earlier call was cut off."""
    from aor_lib.dataset import build_dataset

    study, folder = _study(params, build)
    with progress("stimuli") as report:
        manifest = build_dataset(study, folder, workers, report, scheduler)
    typer.echo(manifest)


@app.command("import-recordings")
def import_recordings_(
    folder: Annotated[Path, typer.Argument(help="ESC-50, FSD50K, or one folder a class.")],
    into: Annotated[Path, typer.Option(help="The library, for a profile's 'recordings'.")],
    mapping: Annotated[Path, typer.Option(help="Which labels are heard in which scenes.")] = PARAMS
    / "recordings.yaml",
) -> None:
    """Add recorded sounds to a library of backgrounds, which scenes then prefer."""
    from aor_lib.recordings import import_recordings

    with progress("recordings") as report:
        _say_imported(import_recordings(folder, into, report, mapping))


@app.command("import-clips")
def import_clips_(
    folder: Annotated[Path, typer.Argument(help="Finished clips without labels.")],
    build: Annotated[Path, typer.Option(help="Folder of the study that is made of them.")],
) -> None:
    """Make a study of finished clips, for every analysis that needs no label."""
    from aor_lib.clips import import_clips

    with progress("clips") as report:
        _say_imported(import_clips(folder, build, report))


@app.command()
def export(
    params: ParamsFile,
    into: Annotated[Path, typer.Option(help="A new folder.")],
    to: Annotated[Literal["hf"], typer.Option(help="For datasets.load_dataset.")] = "hf",
    build: BuildFolder = None,
) -> None:
    """Write the data set for others: sound files, metadata, data card and Croissant."""
    from aor_lib.export import export_hf

    study, folder = _study(params, build)
    typer.echo(export_hf(folder, into, study))


@app.command()
def validate(
    params: ParamsFile,
    build: BuildFolder = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
) -> None:
    """Measure every stimulus again; exits with 1 where one is not what the manifest claims."""
    from aor_lib.validation import validate_dataset

    study, folder = _study(params, build)
    _train_scene_classifier(workers)
    with progress("validation") as report:
        violations = validate_dataset(study, folder, workers, report)
    for violation in violations:
        typer.echo(violation, err=True)
    typer.echo(f"{len(violations)} violations")
    if violations:
        raise typer.Exit(1)


@app.command()
def run(params: ParamsFile, build: BuildFolder = None) -> None:
    """Give every stimulus to every model; finished trials are skipped."""
    from aor_lib.dataset import verify_dataset
    from aor_lib.inference import plan_trials, run_trials
    from aor_lib.results import STORE, load_manifest, load_stimuli
    from aor_lib.store import Store

    study, folder = _study(params, build)
    verify_dataset(load_manifest(folder), folder)
    stimuli = load_stimuli(folder)
    models = _load_models(study.models)
    if any(card.settings.get("scene_aware") for card in study.models):
        _train_scene_classifier(os.cpu_count() or 1)
    trials = plan_trials(study, stimuli, models)
    with Store(folder / STORE) as store, progress("trials") as report:
        result = run_trials(
            trials, models, stimuli, folder, store, lambda p: report(p.done + p.failed, p.planned)
        )
        errors = store.errors()
    typer.echo(f"{result.done} of {result.planned} trials answered, {result.failed} failed")
    for error, count in errors:
        typer.echo(f"{count} x {error}", err=True)
    if result.failed:
        raise typer.Exit(1)


@app.command()
def judge(params: ParamsFile, build: BuildFolder = None) -> None:
    """Judge the responses that have no verdict of the present judge."""
    from aor_lib.judge import JUDGES, judge_response
    from aor_lib.results import STORE
    from aor_lib.store import Store
    from aor_lib.typed_yaml import nearest

    study, folder = _study(params, build)
    name = study.profile.judge
    if name not in JUDGES:
        raise ParamsError(f"{params}: judge: no judge {name!r}{nearest(name, JUDGES)}")
    _require(folder / STORE, "aor run")
    with Store(folder / STORE) as store:
        responses = list(store.unjudged(name, JUDGES[name].version))
        store.record_verdicts((r, judge_response(r, name)) for r in responses)
    typer.echo(f"{len(responses)} responses judged by {name} {JUDGES[name].version}")


@app.command()
def status(params: ParamsFile, build: BuildFolder = None) -> None:
    """Say what there is of a study and what is missing."""
    from aor_lib.results import MANIFEST, STORE, load_manifest, load_results

    study, folder = _study(params, build)
    _require(folder / MANIFEST, "aor data")
    manifest = load_manifest(folder)
    typer.echo(f"{len(manifest)} stimuli, {manifest['path'].notna().sum()} of them sound files")
    _require(folder / STORE, "aor run")
    results = load_results(folder, study.profile.judge)
    counts = results.assign(judged=results["label"].notna()).groupby(["model", "mitigation"])
    table = counts.agg(
        trials=("status", "size"),
        answered=("status", lambda s: (s == "ok").sum()),
        failed=("status", lambda s: (s == "failed").sum()),
        missing=("status", lambda s: (s == "missing").sum()),
        judged=("judged", "sum"),
    )
    typer.echo(table.reset_index().to_string(index=False))


@app.command()
def models(params: ParamsFile) -> None:
    """List a profile's models and whether each can run here; exits with 1 where one cannot."""
    from aor_lib.models.base import ModelError
    from aor_lib.models.registry import load_model

    study = load_study(params)
    unable = 0
    for card in study.models:
        try:
            load_model(card)
            state = "ready"
        except ModelError as error:
            state = str(error)
            unable += 1
        typer.echo(f"{card.id}  ({card.family}, {card.licence}): {state}")
    if others := sorted(set(load_model_cards()) - {card.id for card in study.models}):
        typer.echo(f"not in this profile: {', '.join(others)}")
    if unable:
        raise ModelError(
            f"{unable} of {len(study.models)} models of {params} cannot run here; "
            f"'aor models {params}' says what each needs (a GPU, a key)"
        )


@app.command()
def assets(
    listing: Annotated[Path, typer.Argument(help="Such as params/weights.yaml.")],
    into: Annotated[Path, typer.Option(help="Folder to copy the verified files to.")],
) -> None:
    """Fetch and verify the assets of a listing, and copy their files."""
    from aor_lib.assets import copy_files

    copy_files(listing, into)


def main() -> None:
    """Entry point of ``aor``: runs a verb and turns what a person can mend into one line."""
    import sqlite3

    from aor_lib.assets import AssetError
    from aor_lib.clips import CollectionError
    from aor_lib.dataset import DatasetError
    from aor_lib.export import ExportError
    from aor_lib.models.base import ModelError
    from aor_lib.recordings import LibraryError
    from aor_lib.speech import SpeechError
    from aor_lib.store import StoreError

    known = (
        *(ParamsError, AssetError, DatasetError, ModelError, SpeechError, StoreError),
        *(CollectionError, LibraryError, ExportError),
    )
    try:
        app()
    except (*known, OSError, sqlite3.Error) as error:
        print(f"aor: error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)


def _study(params: Path, build: Path | None) -> tuple[Study, Path]:
    study = load_study(params)
    return study, build or Path("build") / study.profile.name


def _load_models(cards: Sequence[ModelCard]) -> list[AudioModel]:
    """All models, or one error that names every one that cannot run here."""
    from aor_lib.models.base import ModelError
    from aor_lib.models.registry import load_model

    loaded, problems = [], []
    for card in cards:
        try:
            loaded.append(load_model(card))
        except ModelError as error:
            problems.append(str(error))
    if problems:
        more = f" (and {len(problems) - 1} more models)" if len(problems) > 1 else ""
        raise ModelError(f"{problems[0]}{more}; 'aor models' lists what each needs")
    return loaded


def _train_scene_classifier(workers: int) -> None:
    from aor_lib import scene_classifier

    with progress("scene classifier") as report:
        scene_classifier.train(workers, report)


def _say_imported(done: ImportReport) -> None:
    for file, reason in done.skipped:
        typer.echo(f"{file}: {reason}", err=True)
    typer.echo(f"{done.imported} imported, {len(done.skipped)} not")


def _require(path: Path, verb: str) -> None:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; run '{verb}' first")
