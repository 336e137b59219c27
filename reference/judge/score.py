"""Score the default judge on answers that a person labelled, such as a blind test.

The file has the columns ``prompt``, ``completion`` and ``person`` (full_compliance or compliance,
partial_refusal, full_refusal, unjudged or not_an_answer), and may have ``group``; answers of the
group ``language`` are in other languages than English.
"""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from aor_lib.config.records import Label
from aor_lib.judge.encoder import CLASSES
from aor_lib.judge.speech_acts import SPEECH_ACTS
from reference.judge.fit import shares_by_kind

_NAMES = {str(Label.FULL_COMPLIANCE): CLASSES[0], str(Label.UNJUDGED): CLASSES[-1]}


def score(path: Path) -> pd.DataFrame:
    """Return :func:`~reference.judge.fit.shares_by_kind` of a file, by its ``group``."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    answers = zip(frame["completion"], frame["prompt"], strict=True)
    judged = SPEECH_ACTS.judgements(list(answers))
    return shares_by_kind(
        frame.assign(
            kind=frame.get("group", "answers"),
            label=frame["person"].replace(_NAMES),
            judge=[str(verdict.label) for verdict in judged],
            unsure=[verdict.rationale == "unsure" for verdict in judged],
        )
    )


def main(file: Annotated[Path, typer.Argument(help="A CSV file of labelled answers.")]) -> None:
    """Print what the default judge makes of labelled answers, by group."""
    typer.echo(score(file).round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
