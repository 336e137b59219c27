"""The ``aor`` command: every verb is one call into the library.

Anything that a person can mend ends in one line on standard error and a non-zero exit.
"""

from __future__ import annotations

import sys

import typer

from aor_lib.cli import answers, data, models, panel, results, steering
from aor_lib.config.typed_yaml import ParamsError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure over-refusal of audio models. In order: data, validate, run, judge, steer.",
)
app.add_typer(data.app)
app.add_typer(answers.app)
app.add_typer(steering.app)
app.add_typer(panel.app)
app.add_typer(models.app, name="models")
app.add_typer(results.app, name="results")


def main() -> None:
    """Entry point of ``aor``: runs a verb and turns what a person can mend into one line."""
    import sqlite3

    from aor_lib.audio.recordings.library import LibraryError
    from aor_lib.audio.sound_files import CollectionError
    from aor_lib.audio.speech import SpeechError
    from aor_lib.inference.bundles import BundleError
    from aor_lib.inference.store import StoreError
    from aor_lib.models.base import ModelError
    from aor_lib.stimuli.dataset import DatasetError
    from aor_lib.stimuli.export import ExportError
    from aor_lib.storage.assets import AssetError
    from aor_lib.storage.tables import TableError

    known = (
        *(ParamsError, AssetError, DatasetError, ModelError, SpeechError, StoreError),
        *(CollectionError, LibraryError, ExportError, TableError, BundleError),
    )
    try:
        app()
    except (*known, OSError, sqlite3.Error) as error:
        print(f"aor: error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)
