"""Verbs that have models answer, and say which answers are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aor_lib.cli.steps import (
    BuildFolder,
    ParamsFile,
    print_table,
    progress,
    require,
    study_of,
)

if TYPE_CHECKING:
    from aor_lib.config.params import ModelCard, StudyParams
    from aor_lib.inference.engine import Progress
    from aor_lib.models.base import AudioModel

app = typer.Typer()

_ERRORS_SHOWN = 20
_STATUSES = {"ok": "answered", "blocked": "blocked", "failed": "failed", "missing": "missing"}


@app.command()
def run(
    params: ParamsFile,
    build: BuildFolder = None,
    max_failures: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Stop a model after more failures: below 1 a share of its trials, else a number."
            "  [default: 0.1]",
        ),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a dask scheduler whose workers hold the models.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Ask only this model of the profile; repeatable.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what is left to ask, and what it may cost.")
    ] = False,
) -> None:
    """Ask every model what the study plans for it; finished trials are skipped.

    Exits with 1 where a trial has no answer at the end, or a model cannot run here.
    """
    study, folder = study_of(params, build)
    cards = _chosen(study.models, model)
    if dry_run:
        _say_forecast(study, cards, folder)
        return

    from aor_lib.inference.cluster import Cluster
    from aor_lib.inference.engine import MAX_FAILURES, answer_trials, record_plan
    from aor_lib.inference.executors import Executor, in_process
    from aor_lib.inference.forecast import absent, answered_revisions, planned_revisions
    from aor_lib.inference.planning import left_out, plan_trials
    from aor_lib.inference.store import STORE, Store
    from aor_lib.stimuli.manifest import load_stimuli, verify_dataset

    stimuli = load_stimuli(folder)
    verify_dataset(stimuli, folder)
    with ExitStack() as stack:
        load: Callable[[ModelCard], AudioModel] | None = None
        executor: Executor = in_process
        if scheduler is not None:
            cluster = stack.enter_context(Cluster(scheduler))
            load, executor = cluster.model, cluster.executor
        loaded, unable = load_models(cards, load)
        for reason in unable:
            typer.echo(f"not asked: {reason}", err=True)
        for (name, lacking), count in left_out(study, stimuli, loaded).items():
            typer.echo(f"{name}: {count} trials are left out: it takes no {lacking}", err=True)
        store = stack.enter_context(Store(folder / STORE))
        with progress("trials") as report:

            def show(now: Progress) -> None:
                report(now.done + now.failed, now.planned)
                if now.waiting:
                    typer.echo("another run is asking the rest: waiting for it", err=True)

            # What others answered before, or are asked by another run, stays in the plan.
            revisions = planned_revisions(store) | answered_revisions(store)
            here = {one.card.id: one for one in loaded}
            trials = plan_trials(
                study,
                stimuli,
                [
                    here.get(card.id) or absent(card, revisions)
                    for card in study.models
                    if card.id in here or card.id in revisions
                ],
            )
            record_plan(store, trials, loaded)
            result = answer_trials(
                [trial for trial in trials if trial.arm.model in here],
                loaded,
                stimuli,
                folder,
                store,
                show,
                executor=executor,
                max_failures=MAX_FAILURES if max_failures is None else max_failures,
            )
        _say_run(result, store.errors())
    if result.done < result.planned or unable:
        raise typer.Exit(1)


@app.command()
def status(params: ParamsFile, build: BuildFolder = None) -> None:
    """Say what there is of a study and what is missing: a row per model, and what it lacks."""
    import pandas as pd

    from aor_lib.analysis.results import load_results, model_titles
    from aor_lib.config.profile import Profile
    from aor_lib.config.typed_yaml import read
    from aor_lib.inference.store import STORE
    from aor_lib.stimuli.manifest import MANIFEST, load_manifest

    profile = read(params, Profile)  # not the whole study, which takes half of the time
    folder = build or Path("build") / profile.name
    require(folder / MANIFEST, "aor data")
    manifest = load_manifest(folder)
    typer.echo(f"{len(manifest):,} stimuli, {manifest['path'].notna().sum():,} of them sound files")
    require(folder / STORE, "aor run")
    results = load_results(folder, profile.judge)
    arms = [results["model"], results["mitigation"]]
    counts = pd.crosstab(arms, results["status"]).reindex(columns=list(_STATUSES), fill_value=0)
    counts = counts.rename(columns=_STATUSES)
    counts.insert(0, "trials", counts.sum(axis=1))
    counts["judged"] = results["label"].groupby(arms).count()
    lacks = (counts["failed"] + counts["missing"] > 0) | (counts["judged"] < counts["trials"])
    rows: list[tuple[str, ...]] = []
    for model, title in model_titles(folder, sorted(set(results["model"]))).items():
        rows.append((model, title, *map(str, counts.loc[[model]].sum())))
        lacking = counts.loc[[model]].droplevel("model")[lacks.loc[[model]].to_numpy()]
        for mitigation, arm in lacking.iterrows():
            rows.append(("", f"  lacks in {mitigation}", *map(str, arm)))
    print_table(("model", "title", *counts.columns), rows)


def load_models(
    cards: Sequence[ModelCard], load: Callable[[ModelCard], AudioModel] | None = None
) -> tuple[list[AudioModel], list[str]]:
    """Load models, on this machine unless ``load`` finds them elsewhere.

    Returned are those that can run, and why the others cannot.
    """
    from aor_lib.models.base import ModelError
    from aor_lib.models.registry import load_model

    loaded, problems = [], []
    for card in cards:
        try:
            loaded.append((load or load_model)(card))
        except ModelError as error:
            problems.append(str(error))
    return loaded, problems


def _chosen(cards: Sequence[ModelCard], names: Sequence[str] | None) -> list[ModelCard]:
    from aor_lib.config.typed_yaml import ParamsError, did_you_mean

    known = {card.id: card for card in cards}
    for name in names or ():
        if name not in known:
            raise ParamsError(f"--model: the profile has no {name!r}{did_you_mean(name, known)}")
    return [card for card in cards if not names or card.id in names]


def _say_forecast(study: StudyParams, cards: Sequence[ModelCard], folder: Path) -> None:
    from contextlib import nullcontext

    from aor_lib.inference.forecast import designed_stimuli, forecast
    from aor_lib.inference.store import STORE, Store
    from aor_lib.stimuli.manifest import MANIFEST, load_stimuli

    made = (folder / MANIFEST).is_file()
    stimuli = load_stimuli(folder) if made else designed_stimuli(study)
    answered = (folder / STORE).is_file()
    with Store(folder / STORE) if answered else nullcontext() as store:
        forecasts = forecast(study, stimuli, cards, store)
    rows = [
        (
            one.model,
            f"{one.left:,} of {one.trials:,}",
            f"{one.generations:,}",
            "" if one.tokens is None else f"{one.tokens / 1e6:.1f} million",
            "" if one.usd is None else f"{one.usd:.2f} USD",
            "unknown" if one.hours is None else f"{one.hours:.1f}",
        )
        for one in forecasts
    ]
    print_table(("model", "trials left", "generations", "tokens", "at most", "hours"), rows)
    if not made:
        typer.echo("No stimuli have been made: lengths of clips are estimated from their words.")
    for one in forecasts:
        if one.usd is not None and one.cap_usd is not None and one.usd > one.cap_usd:
            typer.echo(
                f"{one.model}: its card's max_spend_usd ({one.cap_usd:g}) may not suffice: "
                "a run stops there, and another goes on"
            )


def _say_run(result: Progress, errors: Sequence[tuple[str, str, str, int]]) -> None:
    for model, reason in result.stopped.items():
        typer.echo(f"{model} was stopped: {reason}", err=True)
    for model, status, error, count in errors[:_ERRORS_SHOWN]:
        typer.echo(f"{count} x {model} {status}: {error}", err=True)
    if len(errors) > _ERRORS_SHOWN:
        typer.echo(f"and {len(errors) - _ERRORS_SHOWN} more kinds of error", err=True)
    left = result.planned - result.done - result.failed
    typer.echo(
        f"{result.done} of {result.planned} trials done, {result.failed} failed, {left} left"
    )
