"""Verbs about models: list them, and check that one is fit for the study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aor_lib.cli.steps import print_table

if TYPE_CHECKING:
    from aor_lib.config.params import ModelCard

app = typer.Typer(
    no_args_is_help=True, help="List the models, check one, or say how to start its server."
)


@app.command("list")
def list_models(
    params: Annotated[
        Path | None, typer.Argument(help="A profile.  [default: every card of params/models]")
    ] = None,
) -> None:
    """Say what each model is and whether it can run here; those that can come first.

    Exits with 1 where one of the profile cannot.
    """
    from aor_lib.config.params import load_model_cards, load_study
    from aor_lib.models.base import ModelError
    from aor_lib.models.registry import load_model

    cards = load_study(params).models if params else tuple(load_model_cards().values())
    ready, unable = [], []
    for card in cards:
        try:
            load_model(card)
            ready.append((*_facts(card), "ready"))
        except ModelError as error:
            unable.append((*_facts(card), str(error).removeprefix(f"{card.id} ")))
    columns = ("model", "size", "memory", "reached as", "licence", "state")
    print_table(columns, ready + unable)
    if loose := [card.id for card in cards if not _is_pinned(card)]:
        typer.echo(f"No commit pins what stands behind {', '.join(loose)}.")
    if params and unable:
        raise ModelError(
            f"{len(unable)} of {len(cards)} models of {params} cannot run here; "
            f"'aor models list {params}' says what each needs (a GPU, a key)"
        )


@app.command("check")
def check_model_(
    model: Annotated[str, typer.Argument(help="Id of a card in params/models, or its path.")],
    scene: Annotated[
        str, typer.Option(help="Id or path of a scene: does the model hear it?")
    ] = "home_kitchen",
) -> None:
    """Ask a model a few questions to see if it is fit for the study; exits with 1 if it is not."""
    from aor_lib.models.check import check_model
    from aor_lib.models.registry import load_model

    loaded = load_model(model)
    if not _is_pinned(loaded.card):
        typer.echo(
            f"{loaded.card.id}: nothing pins revision {loaded.card.revision!r}, which may be "
            "another checkpoint tomorrow; put a commit into the card (found now: "
            f"{loaded.revision})",
            err=True,
        )
    rows = check_model(loaded, scene)
    print_table(("check", "outcome", "what came of it", "what to do"), rows.to_numpy().tolist())
    if "failed" in set(rows["outcome"]):
        raise typer.Exit(1)


@app.command()
def launch(
    model: Annotated[str, typer.Argument(help="Id of a card in params/models/served.")],
) -> None:
    """Print the command that starts a model's server, for a shell on the machine with the GPU."""
    from aor_lib.config.typed_yaml import ParamsError
    from aor_lib.models.registry import load_card

    card = load_card(model)
    if card.launch is None:
        raise ParamsError(f"model {card.id}: launch: its card has none: it runs without a server")
    typer.echo(card.launch)


def _facts(card: ModelCard) -> tuple[str, ...]:
    reached = {"cascade": "local", "hf": "checkpoint", "openai_api": "API"}
    size = f"{card.parameters_b:g} B" if card.parameters_b else "unknown"
    memory = f"{card.memory_gib:g} GiB" if card.memory_gib else "none"
    return card.id, size, memory, reached.get(card.kind, card.kind), card.licence


def _is_pinned(card: ModelCard) -> bool:
    """False for checkpoints of the hub that a branch names. Others have their own ways."""
    from aor_lib.models import hf_checkpoint

    return card.kind != "hf" or hf_checkpoint.is_pinned(card)
