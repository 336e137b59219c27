"""Commands for models: list them, check one, or start its server."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import print_table, study_of
from aor_lib.config.params import load_model_cards
from aor_lib.config.typed_yaml import ParamsError

app = typer.Typer(no_args_is_help=True, help="List the models, check one, or start its server.")


@app.command("list")
def list_models(
    params: Annotated[
        Path | None, typer.Argument(help="A profile (default: every card in params/models).")
    ] = None,
) -> None:
    """List which models can run here; exit with code 1 if one of the profile cannot."""
    import pandas as pd

    from aor_lib.inference.engine import load_models
    from aor_lib.models.base import ModelError

    cards = study_of(params, None)[0].models if params else list(load_model_cards().values())
    _, unable = load_models(cards)
    rows = [
        (card.id, card.kind, card.parameters_b or "", card.memory_gib or "", card.licence)
        for card in sorted(cards, key=lambda card: card.id in unable)
    ]
    table = pd.DataFrame(rows, columns=["model", "kind", "billions", "GiB", "licence"])
    print_table(table.assign(state=table["model"].map(unable).fillna("ready")))
    if params and unable:
        raise ModelError(f"{len(unable)} of the models of {params} cannot run here: see 'state'")


@app.command("check")
def check_model_(
    model: Annotated[str, typer.Argument(help="Id of a card in params/models, or its path.")],
) -> None:
    """Check with a few questions whether a model is fit for the study; exit with code 1 if not."""
    from aor_lib.models.check import check_model
    from aor_lib.models.registry import load_model

    loaded = load_model(model)
    typer.echo(f"{loaded.card.id}, revision {loaded.revision}")
    rows = check_model(loaded)
    print_table(rows)
    if "failed" in set(rows["outcome"]):
        raise typer.Exit(1)


@app.command()
def launch(
    model: Annotated[str, typer.Argument(help="Id of a card in params/models/served.")],
    flags: Annotated[list[str] | None, typer.Argument(help="Server arguments, after --.")] = None,
    port: Annotated[int, typer.Option(help="Port of the server.")] = 8000,
) -> None:
    """Start a model's server with the command in its card; it replaces this process."""
    from aor_lib.models.base import ModelError
    from aor_lib.models.registry import load_card

    card = load_card(model)
    if card.launch is None:
        raise ParamsError(f"model {card.id}: launch: the card has none, as no server is needed")
    server, command = shlex.split(card.launch)[0], shlex.join(["--port", str(port), *(flags or ())])
    if shutil.which(server) is None:
        raise ModelError(f"{card.id} needs the command {server!r}, which is not installed")
    typer.echo(command := f"{card.launch} {command}", err=True)
    os.execvp("sh", ["sh", "-c", f"exec {command}"])
