"""Verbs about background scenes: which there are, and what one sounds like."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from aor_lib.cli.steps import print_table

app = typer.Typer(
    no_args_is_help=True, help="List background scenes and their sounds, or play one."
)


@app.command("list")
def list_scenes(
    sounds: Annotated[
        bool, typer.Option("--sounds", help="The sounds that a scene is made of, in place of them.")
    ] = False,
) -> None:
    """Say which scenes there are, of which scenario or kind, and what is heard in each."""
    if sounds:
        from aor_lib.audio.scenes import SOUNDS

        made = [
            (name, str(one.make.__doc__).splitlines()[0], ", ".join(one.parameters.model_fields))
            for name, one in sorted(SOUNDS.items())
        ]
        print_table(("sound", "what it is", "parameters"), made)
        return
    from aor_lib.config.params import load_scenes

    rows = [
        (scene.id, scene.scenario or scene.kind, scene.description)
        for scene in load_scenes().values()
    ]
    print_table(("scene", "scenario or kind", "what is heard"), rows)


@app.command()
def play(
    scene: Annotated[str, typer.Argument(help="A scene's id, or a file such as my_scene.yaml.")],
    out: Annotated[Path, typer.Option(help="The FLAC file to write.")],
    seconds: Annotated[float, typer.Option(help="Length, at most 120.")] = 10.0,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another rendering.")] = 0,
) -> None:
    """Render a scene as a sound file; the same seed gives the same sound."""
    import numpy as np

    from aor_lib.audio import scenes, speech
    from aor_lib.audio.sound_files import flac
    from aor_lib.config.params import load_scene

    if out.suffix != ".flac":
        raise typer.BadParameter(f"{out} must end in .flac", param_hint="--out")
    if not 0 < seconds <= scenes.MAX_DURATION_S:
        raise typer.BadParameter(
            f"{seconds:g} is not between 0 and {scenes.MAX_DURATION_S:g}", param_hint="--seconds"
        )
    spec = load_scene(scene)
    made = scenes.render(spec, seconds, speech.SAMPLE_RATE, np.random.default_rng(seed))
    out.write_bytes(flac(made.samples, "PCM_16"))
    typer.echo(f"{out}: {seconds:g} s, {len(made.events)} events")
    counts = Counter(event.name for event in made.events)
    print_table(("event", "times"), [(name, str(n)) for name, n in sorted(counts.items())])
