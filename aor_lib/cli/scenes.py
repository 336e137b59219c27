"""Verbs about background scenes: which there are, and what one sounds like."""

from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import print_table
from aor_lib.config.params import load_scene, load_scenes

app = typer.Typer(
    no_args_is_help=True, help="List background scenes and their sounds, or play one."
)


@app.command("list")
def list_scenes(
    sounds: Annotated[
        bool, typer.Option("--sounds", help="List what a scene can be made of instead.")
    ] = False,
) -> None:
    """Say which scenes there are, of which scenario or kind, and what is heard in each."""
    if not sounds:
        columns = ("scene", "scenario or kind", "what is heard")
        scenes = load_scenes().values()
        print_table(
            columns, [(one.id, one.scenario or one.kind, one.description) for one in scenes]
        )
        return
    from aor_lib.audio.scenes import SOUNDS

    rows = [
        (name, str(one.make.__doc__).splitlines()[0], ", ".join(one.parameters.model_fields))
        for name, one in sorted(SOUNDS.items())
    ]
    print_table(("sound", "what it is", "parameters"), rows)


@app.command()
def play(
    scene: Annotated[str, typer.Argument(help="A scene's id, or a file such as my_scene.yaml.")],
    out: Annotated[Path, typer.Option(help="The FLAC file to write.")],
    seconds: Annotated[float, typer.Option(min=0.1, max=120, help="Length.")] = 10.0,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another rendering.")] = 0,
) -> None:
    """Render a scene as a sound file; the same seed gives the same sound."""
    import numpy as np

    from aor_lib.audio import scenes, speech
    from aor_lib.audio.sound_files import flac

    if out.suffix != ".flac":
        raise typer.BadParameter(f"{out} must end in .flac", param_hint="--out")
    spec = load_scene(scene)
    made = scenes.render(spec, seconds, speech.SAMPLE_RATE, np.random.default_rng(seed))
    out.write_bytes(flac(made.samples, "PCM_16"))
    typer.echo(f"{out}: {seconds:g} s, {len(made.events)} events")
