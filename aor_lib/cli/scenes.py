"""Commands for background scenes: list them, or render one as a sound file."""

from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import print_table
from aor_lib.config.params import load_scene, load_scenes

app = typer.Typer(
    no_args_is_help=True, help="List background scenes and their sounds, or render one."
)


@app.command("list")
def list_scenes(
    procedural: Annotated[
        bool, typer.Option("--procedural", help="List the synthesisers of sounds instead.")
    ] = False,
) -> None:
    """List the scenes, with the scenario or kind of each and what is heard in it."""
    import pandas as pd

    if procedural:
        from aor_lib.audio.scenes.sounds import SOUNDS

        columns = ["sound", "what it is", "parameters"]
        rows = [
            (name, str(s.make.__doc__).splitlines()[0], ", ".join(s.parameters.model_fields))
            for name, s in sorted(SOUNDS.items())
        ]
    else:
        columns, scenes = ["scene", "scenario or kind", "what is heard"], load_scenes().values()
        rows = [(s.id, s.scenario or s.kind, s.description) for s in scenes]
    print_table(pd.DataFrame(rows, columns=columns))


@app.command()
def play(
    scene: Annotated[str, typer.Argument(help="A scene's id, or a file such as my_scene.yaml.")],
    out: Annotated[Path, typer.Option(help="The .flac or .wav file to write.")],
    seconds: Annotated[float, typer.Option(min=0.1, max=120, help="Length in seconds.")] = 10.0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the rendering.")] = 0,
) -> None:
    """Render a scene as a sound file; the same seed gives the same sound."""
    import numpy as np

    from aor_lib.audio.clip import Clip
    from aor_lib.audio.scenes.engine import render
    from aor_lib.audio.speech import SAMPLE_RATE

    if out.suffix not in (".flac", ".wav"):
        raise typer.BadParameter(f"{out} must end in .flac or .wav", param_hint="--out")
    made = render(load_scene(scene), seconds, SAMPLE_RATE, np.random.default_rng(seed))
    Clip(made.samples, SAMPLE_RATE).save(out)
    typer.echo(f"{out}: {seconds:g} s, {len(made.events)} events")
