"""Verbs that have models answer, judge and steer them, and say which answers are missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aor_lib.cli.steps import (
    BuildFolder,
    ParamsFile,
    print_table,
    progress,
    require,
    study_of,
)
from aor_lib.steering import MAX_HRR_LOSS

if TYPE_CHECKING:
    from aor_lib.config.params import ModelCard, StudyParams
    from aor_lib.inference.engine import Progress

app = typer.Typer()

_STATUSES = {"ok": "answered", "blocked": "blocked", "failed": "failed", "missing": "missing"}


@app.command()
def run(
    params: ParamsFile,
    build: BuildFolder = None,
    max_failures: Annotated[
        float,
        typer.Option(
            min=0,
            help="Stop a model after more failures: below 1 a share of its trials, else a number.",
        ),
    ] = 0.1,
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
    from aor_lib.inference.engine import run_study

    study, folder = study_of(params, build)
    cards = _chosen(study.models, model)
    if dry_run:
        _say_forecast(study, cards, folder)
        return
    with progress("trials") as report:

        def show(now: Progress) -> None:
            report(now.done + now.failed, now.planned)
            if now.waiting:
                typer.echo("another run is asking the rest: waiting for it", err=True)

        is_complete = run_study(
            study,
            folder,
            show,
            lambda line: typer.echo(line, err=True),
            [card.id for card in cards],
            max_failures,
        )
    if not is_complete:
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


@app.command()
def judge(
    file: Annotated[
        Path,
        typer.Argument(
            help="A profile (YAML), or a table (CSV, JSONL, Parquet) with prompt and completion."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="File for the judged table.")] = None,
    judge_id: Annotated[
        str | None, typer.Option("--judge", help="Instead of the profile's or the default judge.")
    ] = None,
    build: BuildFolder = None,
) -> None:
    """Judge a study's responses that have no verdict of the present judge, or a table's answers."""
    from aor_lib.config.typed_yaml import ParamsError
    from aor_lib.inference.store import STORE, Store
    from aor_lib.judge import load_judge
    from aor_lib.judge.stored import judge_study, judge_table

    if file.suffix in (".yaml", ".yml"):
        study, folder = study_of(file, build)
        chosen = load_judge(judge_id or study.profile.judge)
        require(folder / STORE, "aor run")
        if judge_id is None:
            with Store(folder / STORE) as store:
                store.set_judge(chosen.id)
        with progress("verdicts") as report:
            count = judge_study(folder, chosen, report)
        typer.echo(f"{count} responses judged now by {chosen.id} {chosen.version}")
        return
    if out is None:
        raise ParamsError("--out: say where the judged table goes")
    chosen = load_judge(judge_id)
    with progress("answers") as report:
        counts = judge_table(file, out, chosen, report)
    labels = ", ".join(f"{label} {number}" for label, number in counts.items())
    typer.echo(f"{counts.sum()} answers judged by {chosen.id} {chosen.version}: {labels}")


@app.command()
def steer(
    params: ParamsFile,
    build: BuildFolder = None,
    max_hrr_loss: Annotated[
        float, typer.Option(min=0, max=1, help="Harmful refusal that may be lost, of all harmful.")
    ] = MAX_HRR_LOSS,
) -> None:
    """Steer a study's models away from over-refusal: fit and choose on dev, try on test.

    Comes after run and judge. Models that cannot be steered are left out; the reason is printed.
    """
    from aor_lib.inference.store import STORE
    from aor_lib.judge import load_judge
    from aor_lib.models.registry import load_model
    from aor_lib.steering.study import steer_study

    study, folder = study_of(params, build)
    require(folder / STORE, "aor run")
    # One after the other, so that no two need to be in memory.
    models: Iterator[Any] = (load_model(card) for card in study.models)
    left_out = steer_study(
        study, folder, models, load_judge(study.profile.judge), progress, max_hrr_loss
    )
    for reason in left_out.values():
        typer.echo(f"left out: {reason}", err=True)
    typer.echo(f"{len(study.models) - len(left_out)} of {len(study.models)} models were steered")


def _chosen(cards: Sequence[ModelCard], names: Sequence[str] | None) -> list[ModelCard]:
    from aor_lib.config.typed_yaml import ParamsError, did_you_mean

    known = {card.id: card for card in cards}
    for name in names or ():
        if name not in known:
            raise ParamsError(f"--model: the profile has no {name!r}{did_you_mean(name, known)}")
    return [card for card in cards if not names or card.id in names]


def _say_forecast(study: StudyParams, cards: Sequence[ModelCard], folder: Path) -> None:
    import pandas as pd

    from aor_lib.inference.forecast import forecast
    from aor_lib.stimuli.manifest import MANIFEST

    forecasts = forecast(study, folder, cards)
    rows = [
        (
            one["model"],
            f"{one['left']:,} of {one['trials']:,}",
            f"{one['generations']:,}",
            "" if pd.isna(one["tokens"]) else f"{one['tokens'] / 1e6:.1f} million",
            "" if pd.isna(one["usd"]) else f"{one['usd']:.2f} USD",
            "unknown" if pd.isna(one["hours"]) else f"{one['hours']:.1f}",
        )
        for one in forecasts.to_dict("records")
    ]
    print_table(("model", "trials left", "generations", "tokens", "at most", "hours"), rows)
    if not (folder / MANIFEST).is_file():
        typer.echo("No stimuli have been made: lengths of clips are estimated from their words.")
    short = forecasts[forecasts["usd"] > forecasts["cap_usd"]]
    for model, cap_usd in zip(short["model"], short["cap_usd"], strict=True):
        typer.echo(
            f"{model}: its card's max_spend_usd ({cap_usd:g}) may not suffice: "
            "a run stops there, and another goes on"
        )
