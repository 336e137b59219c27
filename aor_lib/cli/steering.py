"""The verb that steers a study's models."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from aor_lib.cli.steps import BuildFolder, ParamsFile, progress, require, study_of
from aor_lib.steering import MAX_HRR_LOSS

app = typer.Typer()


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
