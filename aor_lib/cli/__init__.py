"""The ``aor`` command: every verb is one call into the library.

Anything that a person can mend ends in one line on standard error and a non-zero exit.
"""

import sys

import typer

from aor_lib.cli import answers, data, make, models, scenes
from aor_lib.config.typed_yaml import AorError, one_line

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure over-refusal of audio models. In order: data, validate, run, judge, steer.",
)
app.add_typer(data.app)
app.add_typer(answers.app)
app.add_typer(make.app)
app.add_typer(models.app, name="models")
app.add_typer(scenes.app, name="scenes")


def main() -> None:
    """Entry point of ``aor``: runs a verb and turns what a person can mend into one line."""
    try:
        app()
    except (AorError, OSError) as error:
        print(f"aor: error: {one_line(error)}", file=sys.stderr)
        sys.exit(1)
