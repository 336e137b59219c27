"""Commands that run models, judge their answers, steer models and report missing answers."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, print_table, study_of
from aor_lib.config.typed_yaml import ParamsError, did_you_mean
from aor_lib.storage.progress import progress

app = typer.Typer()


@app.command()
def run(
    params: ParamsFile,
    build: BuildFolder = None,
    max_failures: Annotated[
        float, typer.Option(min=0, help="Failures that stop a model: a count, or a share below 1.")
    ] = 0.1,
    model: Annotated[
        list[str] | None, typer.Option(help="Run only this model of the profile; repeatable.")
    ] = None,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="Run the I-th of N shards, as in a SLURM job array.")
    ] = "1/1",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Run nothing; estimate the remaining calls and price.")
    ] = False,
) -> None:
    """Run every model on its unfinished trials; exit with code 1 if a trial lacks an answer."""
    from aor_lib.inference.engine import Share, load_models, run_study
    from aor_lib.inference.planning import forecast

    study, folder = study_of(params, build)
    known = {card.id: card for card in study.models}
    for name in model or ():
        if name not in known:
            raise ParamsError(f"--model: the profile has no {name!r}{did_you_mean(name, known)}")
    cards = [known[name] for name in model or known]
    if dry_run:
        left = forecast(study, folder, cards, load_models(cards)[0])
        print_table(left.round(4).astype(object).fillna("unknown"))
        return
    number, _, of = shard.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise ParamsError(f"--shard: {shard!r} is not I/N with I from 1 to N, such as 2/8")
    share = Share([card.id for card in cards], (int(number), int(of)), max_failures)
    with progress("trials") as report:
        if run_study(study, folder, report, partial(typer.echo, err=True), share):
            raise typer.Exit(1)


@app.command()
def status(params: ParamsFile, build: BuildFolder = None) -> None:
    """Count answers and verdicts, show refusal rates, and list why answers are missing.

    Rates on imported clips are shown beside those of the profile's own study, if it has results.
    """
    import pandas as pd

    from aor_lib.inference.engine import reasons, unanswered
    from aor_lib.inference.store import STORE, open_results
    from aor_lib.report.selection import Selection
    from aor_lib.study import Study

    study, folder = study_of(params, build)
    here, own = (Study(place, study.profile.judge) for place in (folder, study_of(params, None)[1]))
    manifest, results, studies = here.stimuli, here.trials, [here]
    if own != here and "imported" in set(manifest["block"]) and (own.build / STORE).is_file():
        studies.append(own)
    typer.echo(f"{len(manifest):,} stimuli, {manifest['path'].notna().sum():,} with a sound file")
    counts = pd.crosstab([results["model"], results["mitigation"]], results["status"])
    counts = counts.reindex(columns=["ok", "blocked", "failed", "missing"], fill_value=0)
    counts["judged"] = results.groupby(["model", "mitigation"])["label"].count()
    headline = pd.concat([each.select("headline").frame for each in studies])
    for rows in (counts.reset_index(), Selection(here, headline).rates().rows()):
        if len(rows):
            print_table(rows)
    with open_results(folder) as store:
        typer.echo("\n".join(reasons(unanswered(store))))


@app.command()
def judge(
    file: Annotated[
        Path, typer.Argument(help="A profile, or a CSV or JSONL file of prompt, completion.")
    ],
    out: Annotated[Path | None, typer.Option(help="Where to write a judged table.")] = None,
    judge_id: Annotated[
        str | None, typer.Option("--judge", help="Id of a judge, if not the profile's or default.")
    ] = None,
    build: BuildFolder = None,
) -> None:
    """Judge a study's responses that lack a verdict of this judge version, or a table's answers."""
    from aor_lib.inference.store import open_results
    from aor_lib.judge import load_judge
    from aor_lib.judge.stored import judge_study, judge_table

    if file.suffix in (".yaml", ".yml"):
        study, folder = study_of(file, build)
        chosen = load_judge(judge_id or study.profile.judge)
        if judge_id is None:
            with open_results(folder) as store:
                store.set_judge(chosen.id)
        with progress("verdicts") as report:
            count = judge_study(folder, chosen, report)
        typer.echo(f"{count} responses newly judged by {chosen.id} {chosen.version}")
        return
    if out is None:
        raise ParamsError("--out: name the file for the judged table")
    chosen = load_judge(judge_id)
    with progress("answers") as report:
        counts = judge_table(file, out, chosen, report)
    labels = ", ".join(f"{label} {number}" for label, number in counts.items())
    typer.echo(f"{counts.sum()} answers judged by {chosen.id} {chosen.version}: {labels}")


@app.command()
def steer(params: ParamsFile, build: BuildFolder = None) -> None:
    """Steer a study's models away from over-refusal: fit and choose on dev, score on test."""
    from aor_lib.judge import load_judge
    from aor_lib.models.registry import load_model
    from aor_lib.steering.study import steer_study

    study, folder = study_of(params, build)
    load: Any = load_model  # of a class that is open to steering
    left_out = steer_study(study, folder, load, load_judge(study.profile.judge), progress)
    for reason in left_out.values():
        typer.echo(f"left out: {reason}", err=True)
    typer.echo(f"{len(study.models) - len(left_out)} of {len(study.models)} models were steered")
