"""The verb that has a judge judge answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import BuildFolder, progress, require, study_of

app = typer.Typer()


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
