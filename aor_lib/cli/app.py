"""The commands of ``aor``, collected from their modules."""

import typer

from aor_lib.cli import answers, data, make, models, scenes

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure over-refusal in audio models. Run in order: data, validate, run, judge, steer.",
)
app.add_typer(data.app)
app.add_typer(answers.app)
app.add_typer(make.app)
app.add_typer(models.app, name="models")
app.add_typer(scenes.app, name="scenes")
